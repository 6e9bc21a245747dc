"""The children of the embedded stack: started, waited for until they are ready, and ended for sure."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from twiceshy.errors import NotReadyError
from twiceshy.local.data_folder import DataFolder, signal_group

Probe: TypeAlias = Callable[[], Awaitable[bool]]

POLL_SECONDS = 0.02
PROBE_SECONDS_MAX = 2.0
LOG_LINES_MAX = 8
LOG_LINE_CHARACTERS_MAX = 300
LOG_TAIL_BYTES = 16_384


class Child:
    """A program that lives no longer than this process.

    It runs in a session and process group of its own: Ctrl-C reaches us, and we stop it in order. When we are
    killed, Linux kills it at once (strictly: when the *thread* that started it ends, so start children from the
    thread that the stack lives in), and elsewhere the next one to enter the data folder ends it.

    ``ready`` is a pattern to be found in its output, or a probe: true when ready; false or an OSError means not
    yet. ``env`` is its whole environment, by default ours. ``hints`` gives, for what may be found in the log of a
    start that failed, the sentence that says what to do about it.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        folder: DataFolder,
        ready: re.Pattern[str] | Probe,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        hints: Mapping[re.Pattern[str], str] | None = None,
        start_seconds_max: float = 20.0,
        stop_seconds_max: float = 10.0,
    ) -> None:
        self.name = name
        self.argv = [str(word) for word in argv]
        self.env = env
        self.cwd = cwd
        self.log_path = folder.path / "logs" / f"{name}.log"
        self.hints = hints or {}
        self.start_seconds_max = start_seconds_max
        self.stop_seconds_max = stop_seconds_max
        self._folder = folder
        self.ready = ready
        self._process: asyncio.subprocess.Process | None = None
        self._end: asyncio.Task[int] | None = None

    @property
    def pid(self) -> int | None:
        """None when it does not run."""
        if self._process is None or self._process.returncode is not None:
            return None
        return self._process.pid

    async def start(self) -> None:
        """Returns when it is ready. Raises NotReadyError, with the end of its log, if that does not happen."""
        if self.pid is not None:
            raise RuntimeError(f"{self.name} is running already")
        process = self._process = await self._spawn()
        self._end = asyncio.create_task(_end(process), name=f"end of {self.name}")
        try:
            self._folder.record(self.name, process.pid)
            async with asyncio.timeout(self.start_seconds_max):
                while process.returncode is None and not await self._answers():
                    await asyncio.sleep(POLL_SECONDS)
            if process.returncode is not None:  # even if something answered: another program, on its port
                raise NotReadyError(self._failure(f"{_ended(process.returncode)} before it was ready"))
        except TimeoutError:
            await self.stop()
            raise NotReadyError(self._failure(f"was not ready after {self.start_seconds_max:g} s")) from None
        except BaseException:
            await self.stop()
            raise

    async def wait(self) -> str:
        """Returns when it has ended, for whatever reason, with a sentence that says how."""
        if self._end is None:
            raise RuntimeError(f"{self.name} does not run")
        return self._with_log(_ended(await asyncio.shield(self._end)))

    async def stop(self) -> None:
        """Ends it and all that it started: SIGTERM, then SIGKILL for what is left after ``stop_seconds_max``."""
        if self._end is None:
            return
        try:
            if self.pid is not None:
                signal_group(self.pid, signal.SIGTERM)
            await asyncio.wait({self._end}, timeout=self.stop_seconds_max)
        finally:
            if self.pid is not None:
                signal_group(self.pid, signal.SIGKILL)
            await self._end
            self._process = self._end = None
            self._folder.forget(self.name)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _spawn(self) -> asyncio.subprocess.Process:
        self.log_path.parent.mkdir(exist_ok=True)
        if self.log_path.exists():
            self.log_path.replace(self.log_path.with_suffix(".log.1"))  # tells why the last run ended
        with self.log_path.open("wb") as output:
            try:
                return await asyncio.create_subprocess_exec(
                    *tied(self.argv),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=asyncio.subprocess.STDOUT,
                    env=self.env,
                    cwd=self.cwd,
                    start_new_session=True,
                )
            except OSError as error:
                raise NotReadyError(f"{self.name} cannot be run: {error}.") from error

    async def _answers(self) -> bool:
        if isinstance(self.ready, re.Pattern):
            return self.ready.search(self.log_path.read_text(errors="replace")) is not None
        try:
            async with asyncio.timeout(PROBE_SECONDS_MAX):
                return await self.ready()
        except OSError:  # nobody listens yet, or (TimeoutError is one) nobody answers
            return False

    def _failure(self, what: str) -> str:
        tail = _tail(self.log_path)
        hint = next((hint for pattern, hint in self.hints.items() if pattern.search(tail)), None)
        return f"{self.name} {what}: {hint}" if hint else self._with_log(what)

    def _with_log(self, what: str) -> str:
        lines = [line[:LOG_LINE_CHARACTERS_MAX] for line in _tail(self.log_path).splitlines()]
        ends = "\n  ".join(["ends:", *lines[-LOG_LINES_MAX:]]) if lines else "is empty."
        return f"{self.name} {what}. Its log, {self.log_path}, {ends}"


def tied(argv: Sequence[str]) -> list[str]:
    """The command that runs ``argv`` and dies with the thread that started it, where the system can do so."""
    if sys.platform != "linux":
        return list(argv)
    wrapper = Path(__file__).with_name("dies_with_parent.py")
    return [sys.executable, "-I", "-S", str(wrapper), str(os.getpid()), *argv]


def free_ports(count: int) -> list[int]:
    """Different ports of 127.0.0.1 that nobody listens on now. Use them at once: nothing reserves them."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for unbound in sockets:
            unbound.bind(("127.0.0.1", 0))
        return [int(bound.getsockname()[1]) for bound in sockets]


def free_port() -> int:
    """One of them."""
    return free_ports(1)[0]


async def _end(process: asyncio.subprocess.Process) -> int:
    exit_code = await process.wait()
    signal_group(process.pid, signal.SIGKILL)  # what it had started; at once, while its number is not used again
    return exit_code


def _ended(exit_code: int) -> str:
    if exit_code < 0:
        return f"was killed by {signal.Signals(-exit_code).name}"
    return f"ended with exit code {exit_code}"


def _tail(log_path: Path) -> str:
    with log_path.open("rb") as log:
        log.seek(max(0, log_path.stat().st_size - LOG_TAIL_BYTES))
        return log.read().decode(errors="replace")
