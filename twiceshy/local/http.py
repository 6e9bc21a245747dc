"""What the embedded servers share: JSON over HTTP from one function, in a process of its own.

ASGI under uvicorn, no framework. Requests are answered one at a time, on the event loop: what the embedded
servers wrap holds Python's lock while it works, so that threads would only add waiting.
"""

import argparse
import asyncio
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
import uvicorn

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY_BYTES_MAX = 64 * 1024 * 1024

# Clients keep idle connections for longer than uvicorn's 5 s, and would write into a closed one.
KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 5
TICK_SECONDS = 1.0


class RefusedError(Exception):
    """A request that is answered with an error. ``detail`` holds what a server's error shape says besides."""

    def __init__(self, status: int, message: str, **detail: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.detail = detail


@dataclass(frozen=True)
class Request:
    method: str
    path: str  # percent-decoded, without the query string
    body: bytes

    def json(self) -> Any:
        """The body, parsed. Raises RefusedError (400) when it is not JSON."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            raise RefusedError(400, f"Format error in JSON body: {error}") from error


class Service(Protocol):
    def answer(self, request: Request) -> Any:
        """What is sent back with status 200, as JSON. Raises RefusedError."""

    def refusal(self, error: RefusedError) -> Any:
        """An error in the shape that the service's clients know, as JSON."""


def arguments(description: str) -> argparse.ArgumentParser:
    """The command line that every embedded server has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    return parser


def exit_on_signals() -> None:
    """Make SIGTERM and SIGINT an orderly exit with status 0, at whatever point they come."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))


def serve(service: Service, host: str, port: int, tick: Callable[[], None] = lambda: None) -> None:
    """Answer requests until a signal, calling ``tick`` every second between them.

    Says ``listening on http://HOST:PORT`` on standard output once connections are taken.
    Raises SystemExit, with a sentence, when the port is not to be had.
    """
    # The protocol is named for asyncio, which else leaves Nagle's algorithm on: 40 ms more for every answer.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise SystemExit(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
        asyncio.run(_serve(service, listener, tick))


async def _serve(service: Service, listener: socket.socket, tick: Callable[[], None]) -> None:
    host, port = listener.getsockname()
    config = uvicorn.Config(
        application(service),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _AnnouncedServer(config, f"http://{host}:{port}")
    async with asyncio.TaskGroup() as group:
        ticking = group.create_task(_tick(tick))
        await server.serve(sockets=[listener])
        ticking.cancel()


async def _tick(tick: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(TICK_SECONDS)
        tick()


class _AnnouncedServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, url: str) -> None:
        super().__init__(config)
        self._url = url

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        sys.stdout.write(f"listening on {self._url}\n")
        sys.stdout.flush()


def application(service: Service) -> Callable[..., Any]:
    """The ASGI application of a service."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        try:
            content = service.answer(Request(scope["method"], scope["path"], await _body(receive)))
            await _send(send, 200, content)
        except RefusedError as error:
            await _send(send, error.status, service.refusal(error))
        except Exception as error:
            await _send(send, 500, service.refusal(RefusedError(500, f"{type(error).__name__}: {error}")))
            raise  # uvicorn logs where it came from

    return app


async def _body(receive: Receive) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise RefusedError(400, "the connection was closed within the request's body")
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > BODY_BYTES_MAX:
            raise RefusedError(413, f"the body is longer than {BODY_BYTES_MAX} bytes")
        if not message.get("more_body"):
            return b"".join(chunks)


async def _send(send: Send, status: int, content: Any) -> None:
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
