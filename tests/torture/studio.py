"""Attacks on the studio: requests, messages, files in its folders, names that are scripts, and many runs in a row."""

from __future__ import annotations

import atexit
import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from studio_server import children, started, stopped

from torture import mutations
from torture.attack import Absent, Measure, attack

BIG = "@big@"
LAST = ("done", "failed", "stopped")


class Server:
    """A studio of its own for all cases of this process."""

    def __init__(self) -> None:
        try:
            import uvicorn  # noqa: F401
        except ImportError:
            raise Absent("needs the extra web") from None
        self.folder = Path(tempfile.mkdtemp(prefix="nlink-torture-studio-"))
        self.process, address = started(self.folder / "runs", "nice-3")
        parts = urllib.parse.urlsplit(address)
        self.host, self.port, self.address = "127.0.0.1", int(parts.port or 0), address
        self.token = urllib.parse.parse_qs(parts.query)["token"][0]
        atexit.register(self.close)

    def close(self) -> None:
        """End it, as Ctrl-C does."""
        with contextlib.suppress(ProcessLookupError):
            stopped(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        """Send a request; return the status and the body of the answer."""
        line = http.client.HTTPConnection(self.host, self.port, timeout=30)
        given = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"} | headers
        try:
            line.request(method, path, body, given)
            answer = line.getresponse()
            return answer.status, answer.read()
        finally:
            line.close()

    def memory(self) -> float:
        """Return the megabytes of the server and its workers that belong to no file."""
        total = 0
        for pid in {self.process.pid} | children(self.process.pid):
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
                total += int(next(line for line in text.splitlines() if line.startswith("Anonymous:")).split()[1])
        return total / 1024


@cache
def server() -> Server:
    """Return the studio, started at the first use."""
    return Server()


def encoded(message: Any) -> bytes:
    """Return JSON with all that Python can write, and numbers of thousands of digits."""

    def plain(each: Any, depth: int = 0) -> Any:
        if isinstance(each, dict):
            return {str(key): plain(inner, depth + 1) for key, inner in each.items()}
        if isinstance(each, list):
            return [plain(inner, depth + 1) for inner in each]
        return BIG if isinstance(each, int) and abs(each) > 10**4000 else each

    return json.dumps(plain(message)).replace(f'"{BIG}"', "9" * 5000).encode()


RAW = [
    b"", b"null", b"[]", b"3", b'"x"', b"{", b"\xff\xfe", b"\x00", b'{"model": NaN}', b'{"model": {"links": Infinity}}',
    b"[" * 100_000,
    b'{"a":' * 50_000, b'{"model": {"links": 3, "title": "\\ud800"}}', b'{"text": "\\ud800"}', b'{"model": {"links": 1e999}}',
    b'{"model": {"links": 3}, "model": 4}', b'{"text": 3}', b'{"model": []}', b'{"session": "\xd9\xa3", "job": "j", "name": "x"}',
    b'{"text": "' + b"[" * 5000 + b'"}', b'{"text": "' + b"a." * 5000 + b'"}', b'{"text": "mass = ' + b"9" * 9000 + b'"}',
    b'{"session": "s", "job": "j", "name": {}}', b'{"session": "s", "job": "j", "name": "\\u0000"}',
    b'{"text": "links = 3\\n\\u001b"}',
    b'{"model": {"links": 3, "start": {"theta": ' + b"[" * 400 + b"]" * 400 + b"}}}",
]  # fmt: skip
NAMES = ["x", "..", "%2e%2e%2fx", "%00", "%ff", "a" * 3000, "%ed%a0%80", "nice-3", "%F0%9F%98%80", "%0d%0aX:%20y", "link", "con"]
PLACES = ["/api/check", "/api/code", "/api/read", "/api/runs"]


def request(rng: random.Random) -> tuple[str, str, bytes | None, dict[str, str]]:
    """Return a hostile request: method, path, body, headers."""
    kind = rng.randrange(6)
    if kind <= 2:
        return "POST", rng.choice(PLACES[:2]), encoded({"model": mutations.model(rng)}), {}
    if kind == 3:
        odd = {"Content-Type": rng.choice(["text/plain", "application/json; charset=utf-16", "multipart/form-data", "x" * 300])}
        return "POST", rng.choice(PLACES), rng.choice(RAW), rng.choice([{}, odd])
    if kind == 4:
        path = rng.choice(["/api/runs/", "/api/presets/", "/static/", "/web/", "/"]) + rng.choice(NAMES)
        return rng.choice(["GET", "DELETE", "HEAD", "PUT", "OPTIONS", "POST", "BREW"]), path, None, {}
    sent = {key: mutations.value(rng) for key in rng.sample(["session", "job", "name", "text", "model", "x"], 3)}
    return "POST", rng.choice(PLACES), encoded(sent), {}


def answered(status: int, body: bytes) -> None:
    """Insist on an answer of JSON, or none, and one sentence in an error."""
    assert 200 <= status < 500, (status, body[:500])
    if body[:1] == b"{":
        told = json.loads(body, parse_constant=lambda name: 1 / 0)
        if "error" in told:
            text = told["error"]["text"]
            assert 0 < len(text) < 1000, len(text)
            assert len(text.splitlines()) == 1, text
    else:
        assert status >= 400 or body[:1] in (b"<", b"", b"\x89", b"/"), (status, body[:200])


@attack("HTTP 200 or 4xx, one sentence, never 500", full=1000, sample=25)
def hostile_requests_of_the_studio(k: int, folder: Path) -> None:
    """Send hostile requests to a real server."""
    method, path, body, headers = request(random.Random(k))
    answered(*server().ask(method, path, body, **headers))


HEADS = [
    "GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: \xb2\r\n\r\n", "GET /?token=\xff HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "GET /\x00 HTTP/1.1\r\n\r\n",
    "POST /api/check HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Length: " + "9" * 5000 + "\r\n\r\n",
    "POST /api/check HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Length: -1\r\n\r\n", "\r\n\r\n",
    "x" * 100_000,
    "POST /api/check HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    "GET /ws?session=a&seen=\xb2&token={token} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: {host}\r\n" + "A: b\r\n" * 5000 + "\r\n",
]  # fmt: skip


@attack("closed, or 4xx; the studio keeps running", full=len(HEADS), sample=1)
def broken_requests_of_the_studio(k: int, folder: Path) -> None:
    """Send bytes that are no HTTP."""
    at = server()
    text = HEADS[k].replace("{host}", f"{at.host}:{at.port}").replace("{token}", at.token)
    with socket.create_connection((at.host, at.port), timeout=10) as line:
        with contextlib.suppress(OSError):
            line.sendall(text.encode("latin-1"))
            line.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            first = line.recv(1000)
            assert not first or first.startswith(b"HTTP/1.1 4"), first
    assert at.ask("GET", "/api/start")[0] == 200


KINDS = ["run", "open", "copies", "compare", "modes", "stability", "flips", "equations", "rm", "", 3]
EXTRAS = [
    "copies",
    "apart",
    "from",
    "vary",
    "vary2",
    "low",
    "high",
    "low2",
    "high2",
    "across",
    "up",
    "size",
    "t_end",
    "name",
    "formulations",
]


@contextlib.contextmanager
def tab(session: str) -> Iterator[Any]:
    """Yield a connection of a page."""
    from websockets.sync.client import connect

    at = server()
    address = f"ws://{at.host}:{at.port}/ws?session={session}&seen=0&token={at.token}"
    with connect(address, max_size=None, open_timeout=30) as line:
        line.recv(timeout=30)
        yield line


def last(line: Any, job: str, seconds: float = 60.0) -> dict[str, Any]:
    """Return the last message of a job, or the answer to one that was not understood."""
    end = time.monotonic() + seconds
    while True:
        told = json.loads(line.recv(timeout=max(0.1, end - time.monotonic())))
        line.send(json.dumps({"type": "seen", "seq": told["seq"]}))
        if told["job"] in (job, "") and told["message"]["type"] in LAST:
            return told["message"]


def short(rng: random.Random) -> dict[str, Any]:
    """Return a request whose model is mostly right and short, with hostile options."""
    model = {"links": 2, "run": {"t_end": 0.2}, "loads": {"joint_spring": 1.0}}
    given = {
        "model": mutations.mutated(model, rng) if rng.randrange(2) else model, "copies": 2, "apart": 1e-3,
        "vary": "loads.joint_spring",
        "low": 0.5, "high": 1.0, "across": 0, "up": 1, "size": 4, "t_end": 0.5, "formulations": ["recursive"],
    }  # fmt: skip
    return given | {key: mutations.value(rng) for key in rng.sample(EXTRAS, rng.choice([0, 1, 3]))}


@attack("answered with one sentence or a result", full=300, sample=0)
def hostile_messages_of_the_studio(k: int, folder: Path) -> None:
    """Start computations with hostile requests over the WebSocket; stop what goes on for long."""
    rng = random.Random(k)
    with tab(f"fuzz{k}") as line:
        line.send(encoded({"type": "start", "job": "j1", "kind": rng.choice(KINDS), "request": short(rng)}).decode())
        try:
            told = last(line, "j1", 5.0)
        except TimeoutError:
            line.send('{"type": "stop", "job": "j1"}')
            told = last(line, "j1", 20.0)
        text = told.get("text", "-")
        assert not text.startswith("this failed with"), text
        assert "unexpectedly" not in text, text
        assert 0 < len(text) < 1000, text
        assert len(text.splitlines()) == 1, text


ODD = [
    "{", "[]", "null", '"x"', "NaN", '{"type": "seen", "seq": NaN}', '{"type": "seen", "seq": 1e999}', '{"type": "start"}',
    "[" * 100_000,
    '{"type": "start", "job": "../x", "kind": "run", "request": {}}',
    '{"type": "start", "job": "\\ud800", "kind": "run", "request": {}}',
    '{"type": "start", "job": "' + "x" * 5000 + '"}', '{"type": {}, "job": []}', "9" * 10_000,
    '{"type": "seen", "seq": -' + "9" * 4000 + "}",
    '{"type": "stop", "job": "\\u0663"}', '{"type": "start", "job": "j1", "kind": "run", "request": []}', "", "\x00",
    b"\xff\xfe", b"",
]  # fmt: skip


@attack("answered or closed; the studio keeps running", full=len(ODD), sample=2)
def odd_messages_of_the_studio(k: int, folder: Path) -> None:
    """Send messages that no page sends."""
    from websockets.exceptions import ConnectionClosed

    with tab(f"odd{k}") as line, contextlib.suppress(ConnectionClosed, TimeoutError):
        line.send(ODD[k])
        line.recv(timeout=0.5)
    with tab(f"next{k}") as line:
        line.send("{}")
        assert "does not know" in json.loads(line.recv(timeout=10))["message"]["text"]
    status, body = server().ask("GET", "/api/start")
    assert status == 200, body


def _run(line: Any, job: str, **run: Any) -> dict[str, Any]:
    model = {"links": 2, "start": {"angle": 1.0}, "run": {"t_end": 2.0} | run}
    line.send(json.dumps({"type": "start", "job": job, "kind": "run", "request": {"model": model}}))
    return last(line, job)


FILES = ["hard link", "symlink", "pipe", "folder", "another file", "another file, deleted"]


@attack("neither listed nor served nor deleted", full=len(FILES), sample=len(FILES))
def other_files_in_the_runs_folder(k: int, folder: Path) -> None:
    """Put what is not a run of the user's own into the runs folder."""
    runs, outside = server().folder / "runs", folder / "secret.nc"
    runs.mkdir(exist_ok=True)
    outside.write_bytes(b"secret")
    path = runs / f"odd{k}.nc"
    makers = [
        lambda: os.link(outside, path), lambda: path.symlink_to(outside), lambda: os.mkfifo(path), path.mkdir,
        lambda: path.write_bytes(b"a note"), lambda: path.write_bytes(b"a note"),
    ]  # fmt: skip
    try:
        makers[k]()
    except OSError as error:
        raise Absent(str(error)) from None
    listed = [row["name"] for row in json.loads(server().ask("GET", "/api/runs")[1])["runs"]]
    if k < 4:
        assert path.stem not in listed
        for method in ("GET", "DELETE"):
            status, body = server().ask(method, f"/api/runs/{path.stem}")
            assert status == 404, (status, body)
            answered(status, body)
            assert b"secret" not in body
    else:
        status, body = server().ask("DELETE", f"/api/runs/{path.stem}")
        assert b"not a run of nlink" in body, body
        answered(status, body)
    assert os.path.lexists(path)
    assert outside.read_bytes() == b"secret"
    path.rmdir() if k == 3 else path.unlink()


@attack("its scratch folder is removed by the next, those of others stay", full=3, sample=0)
def killed_studios(k: int, folder: Path) -> None:
    """Kill a studio with all its processes; look at what is left once another one has started."""
    places = {"TMPDIR": str(folder / "tmp"), "HOME": str(folder)}
    (folder / "tmp").mkdir()
    old = {name: os.environ.get(name) for name in places}
    os.environ.update(places)
    try:
        alive, _ = started(folder / "runs", "nice-3")
        killed, _ = started(folder / "runs", "nice-3")
        for pid in {killed.pid} | children(killed.pid):
            os.kill(pid, signal.SIGKILL)
        killed.communicate()
        mine = folder / "tmp" / "nlink-studio-mine"
        mine.mkdir()
        (mine / "thesis.nc").write_text("all of it")
        assert len(list((folder / "tmp").glob("nlink-studio-*"))) == 3
        third, _ = started(folder / "runs", "nice-3")
        assert len(list((folder / "tmp").glob("nlink-studio-*"))) == 3
        assert (mine / "thesis.nc").read_text() == "all of it"
        for each in (alive, third):
            assert stopped(each)[0] in (0, 130)
        assert [path.name for path in (folder / "tmp").glob("nlink-studio-*")] == ["nlink-studio-mine"]
    finally:
        for name, value in old.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


SOAK, WARM = 500, 40
HOUR, PAUSE = 3600.0, 0.5


@attack(f"{SOAK} runs in a row: memory grows by less than 5 %", full=1, sample=0)
def a_studio_in_use_for_long(k: int, folder: Path) -> Measure:
    """Run again and again in one tab, and measure the memory of the server and its workers."""
    begun = time.perf_counter()
    with tab("soak") as line:
        for j in range(WARM):
            assert _run(line, f"w{j}")["type"] == "done"
        before = server().memory()
        for j in range(SOAK):
            assert _run(line, f"s{j}")["type"] == "done"
        after = server().memory()
    assert after < 1.05 * before, f"from {before:.1f} MB to {after:.1f} MB"
    return Measure(time.perf_counter() - begun, after)


@attack("an hour of tabs, runs and hostile requests: memory grows by less than 5 % after the first third", full=1, sample=0)
def studios_in_traffic(k: int, folder: Path) -> Measure:
    rng, begun, before, turns = random.Random(k), time.perf_counter(), 0.0, 0
    while time.perf_counter() < begun + HOUR:
        with tab(f"traffic{turns}") as line:
            for j in range(3):
                assert _run(line, f"j{turns}x{j}")["type"] == "done"
        for _ in range(10):
            method, path, body, headers = request(rng)
            answered(*server().ask(method, path, body, **headers))
        turns += 1
        if not before and time.perf_counter() > begun + HOUR / 3:
            before = server().memory()
        time.sleep(PAUSE)  # people look at what they see
    after = server().memory()
    assert after < 1.05 * before, f"from {before:.1f} MB to {after:.1f} MB in {turns} turns"
    return Measure(time.perf_counter() - begun, after)
