"""Starts the studio: a socket on this machine only, a token, the browser; ends it cleanly."""

from __future__ import annotations

import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from nlink._support.interrupt import leave_signals
from nlink.scenario import Scenario
from nlink.studio.app import studio_app
from nlink.studio.guard import MOST_BODY
from nlink.studio.shelf import Shelf

HOST = "127.0.0.1"


def listening(port: int) -> socket.socket:
    """Return a socket on a port of this machine (0: any free one), or say in a sentence that it is taken."""
    sock = socket.socket(proto=socket.IPPROTO_TCP)  # said, so that asyncio sends answers without delay
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((HOST, port))
        sock.listen()  # a browser that opens the address before the server is up waits, and is not refused
    except OSError as error:
        sock.close()
        why = "is in use" if isinstance(error, OSError) and error.errno == 98 else f"cannot be used ({error.strerror})"
        raise OSError(f"port {port} {why}; give another with --port, or --port 0 for a free one") from None
    return sock


def hosts(port: int) -> tuple[str, ...]:
    """Return the Host headers that a browser on this machine sends."""
    return f"{HOST}:{port}", f"localhost:{port}"


def serve(start: Scenario, opens: str, port: int, browser: bool, folder: Path, say: Callable[[str], None]) -> None:
    """Run the studio until Ctrl-C; `say` gets its address."""
    sock = listening(port)
    port, token = sock.getsockname()[1], secrets.token_urlsafe(24)
    address = f"http://{HOST}:{port}/?token={token}"
    app = studio_app(token, hosts(port), Shelf(folder), start, opens)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws_max_size=MOST_BODY,
        timeout_graceful_shutdown=1,
        server_header=False,
        ws="websockets-sansio",
    )
    say(address)
    print("nlink: the studio is open at this address, for this machine only; Ctrl-C ends it", file=sys.stderr)
    if browser:
        threading.Timer(0.6, webbrowser.open, [address]).start()
    leave_signals()
    try:
        uvicorn.Server(config).run(sockets=[sock])
    except KeyboardInterrupt:
        print("nlink: the studio is closed", file=sys.stderr)
