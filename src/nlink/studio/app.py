"""The web application: the page and its modules, a small JSON interface, and one WebSocket for each tab."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from nlink._support.checks import ModelError
from nlink._support.endings import RUN
from nlink._support.modelfile import tables
from nlink._support.version import __version__
from nlink.formulations import FORMULATIONS
from nlink.integrators import INTEGRATORS
from nlink.scenario import Scenario, preset
from nlink.studio import code
from nlink.studio.form import load_forms
from nlink.studio.gallery import gallery
from nlink.studio.guard import MOST_BODY, Guard
from nlink.studio.jobs import WORKERS, Pool
from nlink.studio.messages import FieldError, Json, Malformed, Missing, checked, page_model, parsed
from nlink.studio.offers import plots, refused, takers
from nlink.studio.sessions import Session, Sessions, plain
from nlink.studio.shelf import Shelf
from nlink.studio.space import stand_of, start_data
from nlink.view.words import scenario_lines

MOST_SESSIONS = 200
FAREWELL = (1000, 1001)
"""Codes with which a page that the user leaves closes its connection; other codes mean that the connection is lost."""


async def _sent(request: Request) -> Json:
    """Return the body of a request: a table of JSON."""
    try:
        sent = parsed(await request.body())
    except ClientDisconnect:  # also: the guard cuts a body that is too long, and answers itself
        raise Malformed("the request did not come to its end") from None
    if not isinstance(sent, dict):
        raise Malformed("a request must be a table in JSON")
    return sent


Sent = Annotated[Json, Depends(_sent)]


KINDS = {dict: "table", str: "text"}
"""Kinds of values, in words."""


def _of(sent: Json, name: str, kind: Any) -> Any:
    """Return a value of a request, if it is of this kind."""
    if not isinstance(sent.get(name), kind):
        raise Malformed(f"a request here needs {name!r}, a {KINDS.get(kind, 'number')}", name)
    return sent[name]


def studio_app(
    token: str, hosts: tuple[str, ...], shelf: Shelf, start: Scenario, opens: str = "", workers: int = WORKERS
) -> FastAPI:
    """Return the application: `start` is shown first, or the run named `opens`."""
    pool = Pool(workers)
    sessions = Sessions(lambda key: Session(key, pool, shelf))

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        pool.open()
        yield
        pool.close()
        shelf.close()

    app = FastAPI(title="nlink studio", version=__version__, lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.pool, app.state.sessions = pool, sessions
    app.add_middleware(Guard, token=token, hosts=hosts)
    for kind in (ModelError, OSError, HTTPException):
        app.add_exception_handler(kind, _answer_error)
    _add_pages(app)
    _add_models(app, start, opens)
    _add_runs(app, shelf)
    _add_socket(app, sessions)
    return app


def _answer_error(request: Request, error: Exception) -> JSONResponse:
    """Answer with the message. A wrong value in a model has the status 200: the page asked whether it is right. A malformed request
    or a missing run has a status of 400 or 404, as has a path or a method that the studio does not have.
    """
    if isinstance(error, HTTPException):
        return JSONResponse({"error": {"text": "the studio has nothing here", "path": ""}}, error.status_code)
    error = error if isinstance(error, FieldError) else FieldError(str(error))
    return JSONResponse({"error": error.to_dict()}, error.status)


def _add_pages(app: FastAPI) -> None:
    @app.get("/")
    def page() -> Response:
        return FileResponse(Path(__file__).with_name("static") / "index.html")

    app.mount("/web", StaticFiles(packages=[("nlink.view", "web")]))
    app.mount("/static", StaticFiles(packages=[("nlink.studio", "static")]))


def _add_models(app: FastAPI, start: Scenario, opens: str) -> None:
    known = {"formulations": list(FORMULATIONS), "integrators": list(INTEGRATORS), "loads": load_forms(), "version": __version__}
    shown = {**_checked(start), "opens": opens, **known}

    @app.get("/api/start")
    def first() -> Json:
        return shown

    @app.get("/api/presets")
    def groups() -> Json:
        return {"groups": gallery()}

    @app.get("/api/presets/{name}")
    def one(name: str) -> Json:
        return _checked(preset(name))

    @app.post("/api/check")
    def check(sent: Sent) -> Json:
        return _checked(checked(_of(sent, "model", dict)))

    @app.post("/api/cell")
    def cell(sent: Sent) -> Json:
        from nlink.studio import flips  # ensembles, which the server needs for nothing else

        scenario = checked(_of(sent, "model", dict))
        x, y = (math.radians(_of(sent, name, float | int)) for name in ("x", "y"))
        return {"start": flips.start_at(scenario, flips.Grid.of(sent, scenario.chain), x, y)}

    @app.post("/api/read")
    def read(sent: Sent) -> Json:
        return _checked(checked(tables(_of(sent, "text", str).removeprefix("\ufeff"), "this")))

    @app.post("/api/code")
    def texts(sent: Sent) -> dict[str, str]:
        scenario = checked(_of(sent, "model", dict))
        return {"python": code.python(scenario), "toml": code.toml(scenario)}


def _checked(scenario: Scenario) -> Json:
    """Return a model as the page edits it, what its picture needs, and what the page offers for it."""
    model = page_model(scenario)
    chain = scenario.chain
    offers = {"formulations": takers(chain), "refused": refused(chain), "plots": plots(chain)}
    shown = {"model": model, "chain": start_data(scenario), "words": scenario_lines(scenario), "offers": offers}
    return shown | ({"stand": stand_of(scenario)} if chain.spatial else {})


def _add_runs(app: FastAPI, shelf: Shelf) -> None:
    @app.get("/api/runs")
    def listed() -> Json:
        return {"runs": shelf.listed(), "folder": str(shelf.folder)}

    @app.post("/api/runs")
    def save(sent: Sent) -> Json:
        session, job, name = (_of(sent, key, str) for key in ("session", "job", "name"))
        if not (plain(session) and plain(job)):
            raise FieldError("this run is no longer there; run it again, then save it", "name")
        return {"name": shelf.save(f"{session}-{job}", name).stem}

    @app.get("/api/runs/{name}")
    def download(name: str) -> Response:
        return FileResponse(shelf.file(name), media_type="application/x-netcdf", filename=f"{name}{RUN}")

    @app.get("/api/taken/{session}/{job}/{kind}")
    def taken(session: str, job: str, kind: str) -> Response:
        if not (plain(session) and plain(job)):
            raise Missing("there is no such file", "")
        path = shelf.taken(f"{session}-{job}", kind)
        return FileResponse(path, filename=path.name, background=BackgroundTask(path.unlink))

    @app.delete("/api/runs/{name}")
    def delete(name: str) -> Json:
        shelf.delete(name)
        return {"name": name}


def _add_socket(app: FastAPI, sessions: Sessions) -> None:
    @app.websocket("/ws")
    async def socket(connection: WebSocket) -> None:
        key, seen = connection.query_params.get("session", ""), connection.query_params.get("seen", "0")
        await connection.accept()
        if not plain(key) or not (seen.isascii() and seen.isdigit() and len(seen) < 16) or len(sessions.open) >= MOST_SESSIONS:
            await connection.close(4400, "the studio cannot take this page")
            return
        session, known = sessions.at(key)
        session.connection += 1
        sender = asyncio.create_task(_send(connection, session, int(seen), session.connection))
        await connection.send_text(json.dumps({"seq": 0, "job": "", "message": {"type": "hello", "known": known}}))
        code = await _receive(connection, session)
        sender.cancel()
        sessions.left(session, code in FAREWELL)


async def _receive(connection: WebSocket, session: Session) -> int:
    """Read the messages of the page until it closes the connection; return the code of the closing."""
    while True:
        try:
            text = await connection.receive_text()
        except WebSocketDisconnect as gone:
            return gone.code
        except (KeyError, RuntimeError):
            return 1006
        if len(text) > MOST_BODY:
            await connection.close(1009, f"a message may have up to {MOST_BODY:,} letters")
            return 1009
        try:
            message = parsed(text)
        except Malformed:
            message = None
        session.hear(message)


async def _send(connection: WebSocket, session: Session, seen: int, mine: int) -> None:
    """Send the messages that the page has not seen, while this is its newest connection."""
    while session.connection == mine:
        session.news.clear()
        for seq, text in session.after(seen):
            try:
                await connection.send_text(text)
            except (RuntimeError, WebSocketDisconnect):
                return
            seen = seq
        await session.news.wait()
