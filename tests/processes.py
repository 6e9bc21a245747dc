"""Modules of ours run as processes for tests: started, waited for until they listen, and ended."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[1]  # where `python -m` finds our modules, installed or not
START_SECONDS_MAX = 20.0
STOP_SECONDS_MAX = 10.0
POLL_SECONDS = 0.02
LISTENING = re.compile(rb"^listening on (http://.*:(\d+))$", re.MULTILINE)


class ServerProcess:
    """``python -m MODULE ARGUMENTS --port N``, a context: inside, it listens at ``url``.

    The first start takes a free port, and later ones the same, as clients expect of a server.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        self._command = [sys.executable, "-m", module, *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self._port = "0"
        self.url = ""

    def start(self) -> None:
        """Raises AssertionError when it ends or does not listen in time; why is in pytest's captured output."""
        with tempfile.TemporaryFile() as output:
            process = self._process = subprocess.Popen([*self._command, "--port", self._port], stdout=output, cwd=ROOT)
            deadline = time.monotonic() + START_SECONDS_MAX
            while not (listening := LISTENING.search(os.pread(output.fileno(), 4096, 0))):
                if process.poll() is not None or time.monotonic() > deadline:
                    self.kill()
                    raise AssertionError(f"{' '.join(self._command)} does not listen")
                time.sleep(POLL_SECONDS)
        self.url, self._port = listening[1].decode(), listening[2].decode()

    def stop(self) -> int:
        """SIGTERM. Returns the exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, and nothing if it has ended."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(STOP_SECONDS_MAX)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
