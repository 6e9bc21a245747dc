"""Logs: one JSON object a line, an event and its fields, never a body."""

import logging
import sys

import orjson
import structlog


def _render(_: object, __: str, event: structlog.typing.EventDict) -> str:
    return orjson.dumps(event, default=str).decode()


def log_to_stdout() -> None:
    """Sends our structured lines, and the libraries' warnings, to standard output."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(stream=sys.stdout, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
