"""The embedded stack's children: they start, say why they do not, and never outlive their parent."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from twiceshy.errors import NotReadyError
from twiceshy.local.data_folder import DataFolder, process_identity
from twiceshy.local.falkordb import HINTS
from twiceshy.local.processes import Child, free_ports

GONE_SECONDS_MAX = 10.0
READY = re.compile("^ready", re.MULTILINE)

PARENT = """
import asyncio, re, sys
from pathlib import Path
from twiceshy.local.data_folder import DataFolder
from twiceshy.local.processes import Child

async def main():
    async with DataFolder(Path(sys.argv[1])) as folder:
        argv = ["sh", "-c", "echo ready; exec sleep 600"]
        async with Child("sleeper", argv, folder=folder, ready=re.compile("ready")) as child:
            print(child.pid, flush=True)
            await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncIterator[DataFolder]:
    async with DataFolder(tmp_path / "data") as taken:
        yield taken


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that leads a group of its own, as a child of an earlier run does."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


async def test_a_killed_parent_takes_its_children_along(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, tmp_path, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    assert process_identity(child) is not None
    parent.kill()
    await parent.wait()
    if sys.platform != "linux":  # there the next run ends them
        async with DataFolder(tmp_path):
            pass
    await _gone(child)


async def test_next_run_ends_what_an_earlier_one_left(tmp_path: Path, stranger: subprocess.Popen[bytes]) -> None:
    async with DataFolder(tmp_path) as earlier:
        earlier.record("left", stranger.pid)
    async with DataFolder(tmp_path):
        assert process_identity(stranger.pid) is None
    assert stranger.wait() == -signal.SIGTERM


async def test_next_run_leaves_a_recycled_pid_alone(tmp_path: Path, stranger: subprocess.Popen[bytes]) -> None:
    record = {"left": {"pid": stranger.pid, "identity": "a process that had this pid before"}}
    (tmp_path / "children.json").write_text(json.dumps(record))
    async with DataFolder(tmp_path):
        assert stranger.poll() is None


async def test_folder_in_use_is_refused(folder: DataFolder) -> None:
    with pytest.raises(NotReadyError, match=f"in use by another Twiceshy \\(process {os.getpid()}\\)"):
        await DataFolder(folder.path).__aenter__()


async def test_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotReadyError, match="cannot be used: Not a directory"):
        await DataFolder(tmp_path / "file" / "data").__aenter__()


async def test_child_that_ends_too_early_says_why(folder: DataFolder) -> None:
    child = _shell(folder, "echo no such luck; exit 3")
    with pytest.raises(NotReadyError, match=r"shell ended with exit code 3 before it was ready.*\n  no such luck"):
        await child.start()
    assert child.pid is None


async def test_child_that_is_never_ready_is_ended(folder: DataFolder) -> None:
    child = _shell(folder, "echo $$; exec sleep 600", start_seconds_max=0.3)
    with pytest.raises(NotReadyError, match=r"shell was not ready after 0.3 s"):
        await child.start()
    await _gone(int(child.log_path.read_text()))


async def test_child_whose_start_is_cancelled_is_ended(folder: DataFolder) -> None:
    child = _shell(folder, "echo $$; exec sleep 600")
    start = asyncio.create_task(child.start())
    while not (child.log_path.exists() and child.log_path.read_text().strip()):
        await asyncio.sleep(0.01)
    start.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await start
    await _gone(int(child.log_path.read_text()))


async def test_program_that_does_not_exist_says_so(folder: DataFolder) -> None:
    child = Child("nothing", ["/no/such/program"], folder=folder, ready=READY)
    with pytest.raises(NotReadyError, match=r"/no/such/program.*No such file or directory"):
        await child.start()


async def test_missing_library_names_the_package(folder: DataFolder) -> None:
    line = "Module falkordb.so failed to load: libgomp.so.1: cannot open shared object file"
    child = _shell(folder, f"echo '{line}'; exit 1", hints=HINTS)
    with pytest.raises(NotReadyError, match="apt-get install libgomp1 libssl3"):
        await child.start()


async def test_probe_that_hangs_or_is_refused_means_not_yet(folder: DataFolder) -> None:
    answers = iter([ConnectionRefusedError(), TimeoutError(), None])

    async def probe() -> bool:
        answer = next(answers)
        if answer is not None:
            raise answer
        return True

    async with Child("probed", ["sleep", "600"], folder=folder, ready=probe) as child:
        assert child.pid is not None


async def test_stop_ends_all_that_a_child_started(folder: DataFolder) -> None:
    child = _shell(folder, "trap '' TERM; sleep 600 & echo $!; echo ready; wait", stop_seconds_max=0.3)
    async with child:
        assert child.pid is not None
        processes = [child.pid, int(child.log_path.read_text().split()[0])]
    for process in processes:
        await _gone(process)
    assert json.loads((folder.path / "children.json").read_text()) == {}


async def test_child_that_dies_later_is_told_of(folder: DataFolder) -> None:
    async with _shell(folder, "echo ready; exec sleep 600") as child:
        end = asyncio.create_task(child.wait())
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        assert (await end).startswith("shell was killed by SIGKILL. Its log")
        assert child.pid is None
        await child.start()
        assert child.pid is not None


async def test_log_of_the_last_run_is_kept(folder: DataFolder) -> None:
    async with _shell(folder, "echo ready $$; exec sleep 600") as child:
        first = child.log_path.read_text()
    await child.start()
    await child.stop()
    assert first == (folder.path / "logs" / "shell.log.1").read_text()


def test_binary_without_its_exec_bit_is_copied_into_the_folder(folder: DataFolder, tmp_path: Path) -> None:
    binary = tmp_path / "tool"
    binary.write_text("#!/bin/sh\necho runs\n")
    copy = folder.executable(binary, "1")
    assert copy == folder.executable(binary, "1") == folder.path / "bin" / "tool-1"
    assert subprocess.check_output([copy]) == b"runs\n"
    binary.chmod(0o755)
    assert binary == folder.executable(binary, "1")


def test_free_ports_differ() -> None:
    assert len(set(free_ports(50))) == 50


def _shell(folder: DataFolder, script: str, **options: Any) -> Child:
    return Child("shell", ["sh", "-c", script], folder=folder, ready=READY, **options)


async def _gone(pid: int) -> None:
    async with asyncio.timeout(GONE_SECONDS_MAX):
        while process_identity(pid) is not None:
            await asyncio.sleep(0.01)
