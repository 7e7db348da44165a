"""A worker process: takes one job after another from its pipe, sends back messages, ends when its server does.

A message is one byte that says what it is, then JSON, which the server passes on unread. SIGINT asks a job to stop: `simulate`
ends its run between two chunks, other tasks look at `stopping`; a job that does neither in time is ended with its process. What
the page tells a job under way comes through the pipe, too.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

from nlink.view.packing import finite_json

MESSAGE, END, READY, STOPPING = b"m", b"e", b"r", b"s"
PASSED_ON = ""
"""In place of the kind of a job: a message of the page to the job under way."""
NICE = 10
"""Workers have a lower priority than the server, so that the page is answered while they compute."""


class Stopped(Exception):
    """The user has stopped the job."""


class Outbox:
    """Sends the messages of a task, and holds whether the user has stopped it."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.stopping, self.dropped = connection, False, False

    def begin(self) -> None:
        """Forget the job before."""
        self.stopping = self.dropped = False

    def heard(self) -> list[dict[str, Any]]:
        """Return what the page has told the job since the last call."""
        messages = []
        while self.connection.poll():
            messages.append(json.loads(self.connection.recv_bytes())[1])
        self.dropped = self.dropped or any(message.get("type") == "drop" for message in messages)
        return messages

    def send(self, kind: str, **values: object) -> None:
        """Send a message of the job under way."""
        self._put(MESSAGE, kind, values)

    def end(self, kind: str, **values: object) -> None:
        """Send the last message of the job."""
        self._put(END, kind, values)

    def stop(self) -> None:
        """Say that the job has stopped computing and is saving its result."""
        self._put(STOPPING, "stopping", {})

    def progress(self, done: float, total: float) -> None:
        """Send the progress; raise Stopped if the user has stopped the job."""
        self.send("progress", done=done, total=total)
        self.look()

    def look(self) -> None:
        """Raise Stopped if the user has stopped the job."""
        if self.stopping:
            raise Stopped

    def wanted(self, patience: float = 0.0) -> None:
        """Raise Stopped if nobody wants the result any more, or within so many seconds. A job that was stopped still gives what it
        has.
        """
        self.connection.poll(patience)
        self.heard()
        if self.dropped:
            raise Stopped

    def _put(self, mark: bytes, kind: str, values: dict[str, object]) -> None:
        try:
            text = json.dumps({"type": kind, **values}, separators=(",", ":"), allow_nan=False)
        except ValueError:
            text = json.dumps(finite_json({"type": kind, **values}), separators=(",", ":"))
        self.connection.send_bytes(mark + text.encode())


def main(connection: Connection) -> None:
    """Work until the server is gone."""
    threading.Thread(target=_end_with_server, daemon=True).start()
    out = Outbox(connection)

    def ask(*_: object) -> None:
        out.stopping = True

    signal.signal(signal.SIGINT, ask)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.nice(NICE)
    from nlink.compiled.announcing import announce_to
    from nlink.studio import tasks  # numba and sympy: while nobody waits yet

    announce_to(lambda text: out.send("compiling", text=text))
    connection.send_bytes(READY)
    while True:
        try:
            kind, request = json.loads(connection.recv_bytes())
        except EOFError:
            return
        if kind == PASSED_ON:  # it came after the job had ended
            continue
        out.begin()
        _work(tasks.TASKS[kind], request, out)


def _work(task: Callable[[dict[str, object], Outbox], None], request: dict[str, object], out: Outbox) -> None:
    from nlink._support.checks import ModelError
    from nlink.simulation.integrate import SimulationError
    from nlink.studio.messages import FieldError, in_words

    try:
        task(request, out)
    except (Stopped, KeyboardInterrupt):
        out.end("stopped")
    except FieldError as error:
        out.end("failed", text=str(error), path=error.path)
    except ModelError as error:
        out.end("failed", text=in_words(str(error)), path="")
    except SimulationError as error:
        out.end("stopped") if error.status.code == "interrupted" else out.end("failed", text=str(error), path="")
    except MemoryError:
        out.end("failed", text="there is not enough memory for this; ask for less", path="")
    except Exception as error:
        out.end("failed", text=f"this failed with {type(error).__name__}: {error}", path="")


def _end_with_server() -> None:
    """End at once when the server is gone, whatever is being computed."""
    server = parent_process()
    if server is not None:
        wait([server.sentinel])
        os._exit(1)
