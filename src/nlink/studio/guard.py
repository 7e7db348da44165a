"""What stands before every request: the Host and the Origin must be this studio's own, the token right, the body not too long."""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY = 1_000_000
"""Bytes of a request, and of a message."""
LONG = f"a request may have up to {MOST_BODY:,} bytes"
OPEN = ("/web/", "/static/", "/favicon.ico")
"""Paths without a token, beside that of the page: its code, which is public, and nothing else."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


class Guard:
    """ASGI middleware: refuses what does not come from the studio's own page."""

    def __init__(self, app: ASGIApp, token: str, hosts: tuple[str, ...]) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        problem = self._problem(scope, headers)
        if problem and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4403, "reason": problem[1][:100]})
        elif problem:
            await refuse(send, *problem)
        elif scope["type"] == "websocket":
            await self.app(scope, receive, send)
        else:
            await self._pass_on(scope, receive, send)

    def _problem(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str] | None:
        if headers.get(b"host", "") not in self.hosts:
            return 403, "this studio answers only at the address that it printed"
        origin = headers.get(b"origin")
        if origin is not None and origin not in [f"http://{host}" for host in self.hosts]:
            return 403, "this studio answers only to its own page"
        public = scope["path"] == "/" or scope["path"].startswith(OPEN)
        if public and scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            return None
        if not self._known(scope, headers):
            return 403, "the token is missing or wrong: open the address that nlink studio printed when it started"
        length = headers.get(b"content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 16) or int(length) > MOST_BODY:
            return 413, LONG
        return None

    def _known(self, scope: Scope, headers: dict[bytes, str]) -> bool:
        given = headers.get(b"authorization", "").removeprefix("Bearer ")
        given = given or parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return hmac.compare_digest(given.encode(), self.token.encode())

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen, answered = 0, False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            return message if seen <= MOST_BODY else {"type": "http.disconnect"}

        async def headed(message: Message) -> None:
            nonlocal answered
            if seen > MOST_BODY:
                if not answered:
                    answered = True
                    await refuse(send, 413, LONG)
                return
            if message["type"] == "http.response.start":
                answered = True
                message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
            await send(message)

        await self.app(scope, counted, headed)
        if not answered:
            await refuse(send, 413, LONG)


async def refuse(send: Send, status: int, text: str) -> None:
    """Answer with one sentence."""
    body = json.dumps({"error": {"text": text, "path": ""}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
