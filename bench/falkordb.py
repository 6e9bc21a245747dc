"""An empty FalkorDB for a benchmark, with the settings of the embedded stack."""

import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from twiceshy.local.data_folder import DataFolder
from twiceshy.local.falkordb import falkordb_child
from twiceshy.local.processes import free_ports


@contextlib.asynccontextmanager
async def falkordb() -> AsyncIterator[int]:
    """Its port on 127.0.0.1. It ends with the context, and leaves nothing."""
    [port] = free_ports(1)
    with tempfile.TemporaryDirectory(prefix="twiceshy-bench-") as path:
        async with DataFolder(Path(path)) as folder, falkordb_child(folder, port):
            yield port
