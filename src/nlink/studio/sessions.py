"""Sessions: what one tab of the browser has under way. A tab that loses its connection comes back to the messages it missed."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

from nlink._support.checks import shown
from nlink.studio.jobs import Job, Pool
from nlink.studio.messages import Json
from nlink.studio.shelf import Shelf

GRACE = 30.0
"""Seconds for which a lost tab's jobs and messages are kept."""
MOST_KEPT = 64 * 2**20
"""Letters of messages kept for a tab that does not take them; one that has more is dropped."""
MOST_JOBS = 20
KINDS = ("run", "continue", "open", "take", "endless", "prepare", "copies", "compare", "modes", "stability", "flips", "equations")
KEPT = ("run", "continue", "endless")
"""Kinds of jobs whose runs are kept, so that they can be saved."""


class Session:
    """A tab: its jobs, and the messages that it has not confirmed."""

    def __init__(self, key: str, pool: Pool, shelf: Shelf) -> None:
        self.key, self.pool, self.shelf = key, pool, shelf
        self.jobs: dict[str, Job] = {}
        self.sent: deque[tuple[int, str]] = deque()
        self.kept = self.count = 0
        self.news = asyncio.Event()
        self.connection = 0

    def hear(self, message: object) -> None:
        """Take a message of the page; what is not understood is answered, never fatal."""
        message = message if isinstance(message, dict) else {}
        kind, name = message.get("type"), message.get("job")
        if kind == "seen" and isinstance(message.get("seq"), int):
            self._forget(message["seq"])
        elif kind == "start" and isinstance(name, str) and plain(name):
            self._start(name, message)
        elif kind in ("stop", "drop", "tell") and isinstance(name, str):
            if name in self.jobs:
                self._act(kind, self.jobs[name], message)
        else:
            self.tell(
                "", json.dumps({"type": "failed", "text": "the page sent something that the studio does not know", "path": ""})
            )

    def _act(self, kind: str, job: Job, message: Json) -> None:
        """Stop a job, drop it, or tell it something."""
        if kind == "stop":
            self.pool.stop(job)
        elif kind == "drop":
            self.pool.drop(job)
        elif job.worker is not None and isinstance(message.get("content"), dict):
            job.worker.pass_on(message["content"])

    def tell(self, job: str, text: str) -> None:
        """Put a message in line for the page."""
        self.count += 1
        wrapped = f'{{"seq":{self.count},"job":{json.dumps(job)},"message":{text}}}'
        self.sent.append((self.count, wrapped))
        self.kept += len(wrapped)
        self.news.set()
        if self.kept > MOST_KEPT:
            self.stop()

    def after(self, seq: int) -> list[tuple[int, str]]:
        """Return the messages after one that was seen."""
        return [pair for pair in self.sent if pair[0] > seq]

    def stop(self) -> None:
        """Stop everything under way."""
        for job in list(self.jobs.values()):
            self.pool.stop(job)

    def _forget(self, seq: int) -> None:
        while self.sent and self.sent[0][0] <= seq:
            self.kept -= len(self.sent.popleft()[1])

    def _start(self, name: str, message: Json) -> None:
        kind, request = message.get("kind"), message.get("request")
        ended = partial(self.jobs.pop, name, None)
        job = Job(str(kind), request if isinstance(request, dict) else {}, partial(self.tell, name), ended)
        problem = self._prepared(name, job)
        if problem:
            job.say("failed", text=problem, path="")
            return
        self.jobs[name] = job
        self.pool.submit(job)

    def _prepared(self, name: str, job: Job) -> str:
        """Put the server's own files into a request; return what is wrong with it, if something is."""
        if job.kind not in KINDS:
            return f"there is no computation {shown(job.kind)}"
        if name in self.jobs or len(self.jobs) >= MOST_JOBS:
            return f"this page has {len(self.jobs)} computations under way; stop one of them first"
        job.request = {key: value for key, value in job.request.items() if key not in ("scratch", "path", "file")}
        if job.kind in KEPT:
            job.request["scratch"] = str(self.shelf.new(f"{self.key}-{name}"))
        if job.kind in ("open", "continue", "take"):
            try:
                job.request["path"] = str(self._source(job))
                if job.kind == "take":
                    job.request["file"] = str(self.shelf.to_take(f"{self.key}-{name}", job.request.get("what")))
            except ValueError as error:
                return str(error)
        elif not isinstance(job.request.get("model"), dict):
            return "the model must be a table"
        return ""

    def _source(self, job: Job) -> Path:
        """Return the file of the run that a job reads: a saved one by its name, or one of this tab by its job."""
        earlier = job.request.get("run")
        if job.kind != "open" and isinstance(earlier, str) and plain(earlier):
            return self.shelf.kept(f"{self.key}-{earlier}")
        return self.shelf.file(job.request.get("name"))


def plain(name: str) -> bool:
    """Whether a text can be a part of a file's name: up to 40 letters and digits of ASCII."""
    return name.isascii() and name.isalnum() and len(name) <= 40


class Sessions:
    """All tabs."""

    def __init__(self, make: Callable[[str], Session]) -> None:
        self.make, self.open = make, {}

    def at(self, key: str) -> tuple[Session, bool]:
        """Return the session of a tab, and whether it was known."""
        known = key in self.open
        session = self.open.setdefault(key, None) or self.make(key)
        self.open[key] = session
        return session, known

    def left(self, session: Session, for_good: bool) -> None:
        """Note that a tab's connection ended; unless it comes back in time, or said farewell, end its jobs."""
        connection = session.connection
        asyncio.get_running_loop().call_later(0.0 if for_good else GRACE, self._drop, session, connection)

    def _drop(self, session: Session, connection: int) -> None:
        if session.connection == connection and self.open.get(session.key) is session:
            del self.open[session.key]
            session.stop()
