"""A real Ollama with two tiny models, for tests: the machine's own, or the one beside this repository."""

import lzma
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Self

from tests.integration import tiny_gguf
from tests.requirements import skip_or_fail

ARCHIVES = Path(__file__).parents[2] / ".." / "shared" / "tools" / "ollama"
START_SECONDS_MAX = 20.0
STOP_SECONDS_MAX = 10.0
POLL_SECONDS = 0.05
LISTENING = re.compile(r"Listening on 127\.0\.0\.1:(\d+)")

MODEL, NAN_MODEL = "tiny", "tiny-nan"


class OllamaServer:
    """A context: inside, it serves MODEL and NAN_MODEL (tests.integration.tiny_gguf) at ``url``.

    ``folder`` gets its models and home. Skips the test when there is no Ollama.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = _program(folder)
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._host = "127.0.0.1:0"

    @property
    def url(self) -> str:
        return f"http://{self._host}/v1"

    def start(self) -> None:
        with self._log.open("wb") as log:
            process = self._process = subprocess.Popen(
                [self._program, "serve"], stdout=log, stderr=log, env=self._environment(), start_new_session=True
            )
        deadline = time.monotonic() + START_SECONDS_MAX
        while not (listening := LISTENING.search(self._log.read_text())):
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"ollama does not start: {self._log.read_text()[-2000:]}")
            time.sleep(POLL_SECONDS)
        self._host = f"127.0.0.1:{listening[1]}"

    def kill(self) -> None:
        """SIGKILL to the whole group: its runner would outlive it."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(STOP_SECONDS_MAX)

    def signal_runners(self, number: signal.Signals) -> None:
        """To the processes that hold the models, not to the server."""
        assert self._process is not None
        for stat in Path("/proc").glob("[0-9]*/stat"):
            pid, parent = int(stat.parent.name), int(stat.read_text().rsplit(")", 1)[1].split()[1])
            if parent == self._process.pid:
                os.kill(pid, number)

    def create(self, model: str, *, with_nan: bool = False, seed: int = tiny_gguf.SEED) -> None:
        """Make a model, or replace it by one of other weights."""
        tiny_gguf.write(self._folder / f"{model}.gguf", with_nan=with_nan, seed=seed)
        modelfile = self._folder / f"{model}.Modelfile"
        modelfile.write_text(
            f"FROM ./{model}.gguf\nPARAMETER num_thread 1\n"
        )  # several spin, on a busy machine for ever
        subprocess.run(
            [self._program, "create", model, "-f", modelfile],
            check=True,
            capture_output=True,
            env=self._environment(),
            timeout=60,
        )

    def _environment(self) -> dict[str, str]:
        folders = {"HOME": str(self._folder), "OLLAMA_MODELS": str(self._folder / "models")}
        return {**os.environ, **folders, "OLLAMA_HOST": self._host}

    def __enter__(self) -> Self:
        self.start()
        try:
            self.create(MODEL)
            self.create(NAN_MODEL, with_nan=True)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def _program(folder: Path) -> str:
    if own := shutil.which("ollama"):
        return own
    archives = sorted(ARCHIVES.glob("ollama-*-linux-amd64.xz"))
    if not archives:
        skip_or_fail("Ollama is not on the PATH: install it (https://ollama.com/download) to test against it.")
    program = folder / "ollama"
    with lzma.open(archives[-1]) as packed, program.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked)
    program.chmod(0o755)
    return str(program)
