"""Apache Kafka for tests: one node, run from the jars of Maven Central, which are kept in the user's cache.

``python -m tests.kafka`` fetches the jars beforehand.
"""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from twiceshy.local.processes import free_ports, tied

KAFKA_VERSION = "4.4.0"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
DOWNLOAD_SECONDS_MAX = 600.0
FORMAT_SECONDS_MAX = 60.0
START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 15.0
POLL_SECONDS = 0.05

POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>twiceshy</groupId>
  <artifactId>kafka-for-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{KAFKA_VERSION}</version>
    </dependency>
    <!-- without it the broker logs nothing -->
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>2.25.5</version>
    </dependency>
  </dependencies>
</project>
"""
COPY_JARS = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={data}
auto.create.topics.enable=false
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
group.initial.rebalance.delay.ms=0
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
log.cleaner.dedupe.buffer.size=16777216
"""
LOGGING = """\
status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{HH:mm:ss.SSS} %p %m (%c{1})%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
logger.server.name=kafka.server.KafkaRaftServer
logger.server.level=info
"""
STARTED = "Kafka Server started"
JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


class MissingRequirement(Exception):  # noqa: N818 (it is the machine's lack, not an error of ours)
    """The machine lacks what Kafka needs. The message is a sentence that says what to do."""


def kafka_jars() -> Path:
    """The folder of the jars, fetched if need be. Raises MissingRequirement."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "twiceshy"
    jars = cache / f"kafka-{KAFKA_VERSION}"
    if not (shutil.which("java") and (jars.exists() or shutil.which("mvn"))):
        raise MissingRequirement("install a JDK 17 and Maven: apt-get install openjdk-17-jre-headless maven")
    if not jars.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="kafka-") as unfinished:
            _download(Path(unfinished))
            try:
                (Path(unfinished) / "jars").rename(jars)
            except OSError:
                if not jars.exists():  # else another process was faster
                    raise
    return jars


def _download(folder: Path) -> None:
    (folder / "pom.xml").write_text(POM)
    command = ["mvn", "-B", "-q", "-Dstyle.color=never", COPY_JARS, "-DincludeScope=runtime", "-DoutputDirectory=jars"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=DOWNLOAD_SECONDS_MAX
        )
    except subprocess.TimeoutExpired:
        raise MissingRequirement(f"Maven did not fetch Kafka's jars within {DOWNLOAD_SECONDS_MAX:g} s") from None
    if done.returncode != 0:
        reason = (done.stdout + done.stderr).partition("\n")[0]
        raise MissingRequirement(f"Maven cannot fetch Kafka's jars: {reason}")


class KafkaServer:
    """One node, broker and controller at once, without automatic topics. It ends with this process at the latest.

    Ports and data stay the same over ``kill9`` and ``restart``; ``stop`` removes the data.
    """

    def __init__(self) -> None:
        self._jars = kafka_jars()
        self._folder = Path(tempfile.mkdtemp(prefix="twiceshy-kafka-"))
        self._log = self._folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        port, controller = free_ports(2)
        self.bootstrap = f"127.0.0.1:{port}"
        data = self._folder / "data"
        (self._folder / "server.properties").write_text(PROPERTIES.format(port=port, controller=controller, data=data))
        (self._folder / "log4j2.properties").write_text(LOGGING)

    @property
    def pid(self) -> int | None:
        """None when it does not run."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Returns when it takes requests, or raises RuntimeError with the end of its log."""
        atexit.register(self.stop)
        format_data = self._java("kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", CLUSTER_ID, "-c")
        subprocess.run(format_data, capture_output=True, check=True, timeout=FORMAT_SECONDS_MAX)
        self._run()

    def restart(self) -> None:
        """Ends it in order, if it runs, and starts it on the same ports and data."""
        self._end(signal.SIGTERM)
        self._run()

    def kill9(self) -> None:
        """Kills it, as a lost machine would, but for what the page cache holds. Its data stay for ``restart``."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends it in order and removes its data."""
        self._end(signal.SIGTERM)
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.stop)

    def _java(self, *arguments: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self._folder / 'log4j2.properties'}"
        properties = str(self._folder / "server.properties")
        return ["java", *JVM_OPTIONS, logging, "-cp", f"{self._jars}/*", *arguments, properties]

    def _run(self) -> None:
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                tied(self._java("kafka.Kafka")),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS_MAX
        while STARTED not in self._log.read_text(errors="replace"):
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = self._log.read_text(errors="replace")[-2000:]
                self._end(signal.SIGKILL)
                raise RuntimeError(f"Kafka did not start. Its log ends:\n{log}")
            time.sleep(POLL_SECONDS)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


if __name__ == "__main__":
    kafka_jars()
