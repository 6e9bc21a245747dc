"""The embedded stack is killed in the middle of its work, and starts again with all that it had admitted."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli import difference, environment, twiceshy
from tests.incidents import NO_BURSTS, incident
from twiceshy.local.data_folder import process_identity
from twiceshy.stream.codec import encode

START_SECONDS_MAX = 120.0


class Up:
    """``twiceshy up`` in a process of its own."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.process: asyncio.subprocess.Process

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "twiceshy.cli",
            "up",
            "--json",
            "--data",
            self._data,
            # Incidents made for tests are so alike that guard would take them for a burst.
            env={**environment(self._data), "TWICESHY_BURST": json.dumps(NO_BURSTS)},
            stdout=asyncio.subprocess.PIPE,
        )
        assert self.process.stdout is not None
        async with asyncio.timeout(START_SECONDS_MAX):
            ready = await self.process.stdout.readuntil(b"\n}\n")
        assert json.loads(ready)["ready_seconds"] > 0

    async def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return await self.process.wait()


def lines(first: int, last: int) -> bytes:
    return b"\n".join(encode(incident(number)) for number in range(first, last))


@pytest.fixture(name="up")
async def _up(tmp_path: Path) -> AsyncIterator[Up]:
    up = Up(tmp_path)
    await up.start()
    yield up
    if up.process.returncode is None:
        await up.kill()


async def test_a_killed_stack_starts_again_with_all_that_it_had(up: Up, tmp_path: Path) -> None:
    remembered = await twiceshy("publish", "-", folder=tmp_path, stdin=lines(0, 30))
    assert (remembered.code, remembered.err) == (0, "")
    children = {
        child["pid"]: child["identity"] for child in json.loads((tmp_path / "children.json").read_text()).values()
    }
    under_way = asyncio.create_task(twiceshy("publish", "-", "--timeout", "3", folder=tmp_path, stdin=lines(30, 90)))
    await asyncio.sleep(2.0)
    await up.kill()
    await under_way
    await up.start()
    assert [pid for pid, identity in children.items() if process_identity(pid) == identity] == []
    await published_right_after_the_start_is_recallable(tmp_path)
    again = await twiceshy("publish", "-", folder=tmp_path, stdin=lines(0, 90))
    assert (again.code, again.err) == (0, "")
    live = await twiceshy("export", "--tenant", "default", folder=tmp_path)
    folded = await twiceshy("fold", "--tenant", "default", folder=tmp_path)
    assert difference(live.out, folded.out) == []
    nodes = [json.loads(line).get("node") for line in live.out.splitlines()]
    assert nodes.count("MemoryEpisode") == 91
    assert await up.interrupt() == 0
    assert not (tmp_path / "children.json").exists() or json.loads((tmp_path / "children.json").read_text()) == {}


async def published_right_after_the_start_is_recallable(folder: Path) -> None:
    fresh = incident(500, title="the zeppelin hangar lost its roof")
    published = await twiceshy("publish", "-", folder=folder, stdin=encode(fresh))
    assert published.code == 0
    asked = ("--json", "--tenant", "default", "--deadline-ms", "20000", "zeppelin hangar roof")
    reply = await twiceshy("recall", *asked, folder=folder)
    assert reply.json["results"][0]["fingerprint"] == "test/500"


async def test_a_worker_that_dies_is_started_again(up: Up, tmp_path: Path) -> None:
    children = json.loads((tmp_path / "children.json").read_text())
    os.kill(children["chain"]["pid"], signal.SIGKILL)
    published = await twiceshy("publish", "-", folder=tmp_path, stdin=lines(0, 10))
    assert published.code == 0
    assert json.loads((tmp_path / "children.json").read_text())["chain"]["pid"] != children["chain"]["pid"]
    os.kill(children["broker"]["pid"], signal.SIGKILL)
    await asyncio.sleep(1.0)
    async with asyncio.timeout(START_SECONDS_MAX):
        while (await twiceshy("doctor", folder=tmp_path)).code != 0:
            await asyncio.sleep(1.0)
    live = await twiceshy("export", "--tenant", "default", folder=tmp_path)
    folded = await twiceshy("fold", "--tenant", "default", folder=tmp_path)
    assert difference(live.out, folded.out) == []
    assert await up.interrupt() == 0
