"""The Faust app factory: raw topics, acknowledgements of our own, and settings that hold in a fail-over."""

import ssl
from typing import Any

import faust
from faust.auth import SASLCredentials, SSLCredentials
from faust.types.auth import SASLMechanism
from yarl import URL

from twiceshy.settings import KafkaSecurity, Settings
from twiceshy.stream.transport import StartingOffsets, Transport

MAX_POLL_SECONDS = 7 * 24 * 3_600.0


def make_app(settings: Settings, group: str, starting_offsets: StartingOffsets) -> faust.App:
    """A Faust app of consumer group ``group``.

    ``starting_offsets`` says, for the partitions assigned, where to start instead of at the committed offset.
    """
    urls = [URL(f"kafka://{server.strip()}") for server in settings.kafka.split(",")]
    app = faust.App(
        group,
        broker=urls,
        broker_credentials=_credentials(settings.kafka_security),
        broker_commit_every=100,
        broker_max_poll_records=100,
        # A store may be away for days: the process waits, and must not lose its partitions for it.
        broker_max_poll_interval=MAX_POLL_SECONDS,
        broker_session_timeout=6.0,
        broker_heartbeat_interval=2.0,
        broker_request_timeout=30.0,
        consumer_auto_offset_reset="earliest",
        producer_acks=-1,
        stream_wait_empty=False,
        # A topic's partition is left out of fetches from four fifths of this on. What was fetched by then
        # (100 records at most) must still fit, or a full topic would block the fetches of all others.
        stream_buffer_maxsize=1_024,
        # No event is "stuck" while a store is away, and Faust has no business restarting its consumer then.
        stream_processing_timeout=MAX_POLL_SECONDS,
        table_standby_replicas=0,
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
        autodiscover=False,
    )
    transport = Transport(urls, app)
    transport.fetch_wait_ms = settings.fetch_wait_ms
    transport.starting_offsets = starting_offsets
    app.transport = transport
    return app


def _credentials(security: KafkaSecurity) -> Any:
    context = ssl.create_default_context(cafile=security.cafile) if security.protocol.endswith("SSL") else None
    if security.protocol.startswith("SASL"):
        return SASLCredentials(
            username=security.username,
            password=security.password.get_secret_value() if security.password else None,
            mechanism=SASLMechanism(security.mechanism),
            ssl_context=context,
        )
    return SSLCredentials(context) if context else None
