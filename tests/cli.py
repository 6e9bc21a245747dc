"""The command line as users have it: a process of its own that finds the stack of a data folder."""

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

COMMAND_SECONDS_MAX = 180.0


@dataclass(frozen=True)
class Ended:
    code: int
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.out)


def environment(folder: Path) -> dict[str, str]:
    """The environment in which the current stack is that of the data folder ``folder``, which need not run."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TWICESHY_")}
    # A stack writes where it listens into its data folder, under the name that the runtime folder has it by.
    return {**ours, "TWICESHY_RUNTIME_DIR": str(folder), "COLUMNS": "120"}


async def twiceshy(*arguments: str | Path, folder: Path, stdin: bytes = b"") -> Ended:
    """Runs a command to its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "twiceshy.cli",
        *map(str, arguments),
        env=environment(folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(COMMAND_SECONDS_MAX):
            out, err = await process.communicate(stdin)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return Ended(process.returncode, out, err.decode())


def difference(one: bytes, other: bytes) -> list[bytes]:
    """The first lines that only one of two exports has, a few of each: none when they are equal."""
    ones, others = one.splitlines(), other.splitlines()
    if one == other:
        return []
    return [line for line in ones if line not in set(others)][:2] + [line for line in others if line not in set(ones)][
        :2
    ]
