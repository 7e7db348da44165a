"""The task that simulates in real time without an end, while the page pulls the chain and changes its loads.

Where a load is changed, the potential energy goes on from its value: its zero moves, and the balance goes on too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from nlink._support.checks import ModelError
from nlink.analysis.motion import Failure
from nlink.compiled.announcing import waiting
from nlink.integrators.base import steps_of
from nlink.scenario import Scenario
from nlink.studio.live import PIECE, Live
from nlink.studio.live_in_space import LiveInSpace
from nlink.studio.messages import FieldError, Json, checked
from nlink.studio.motion import show
from nlink.studio.offers import refuse
from nlink.studio.record import Record
from nlink.studio.space import start_data
from nlink.studio.worker import Outbox, Stopped

FRAME = 1 / 60
"""Seconds between two messages to the page."""
MOST_BEHIND = 0.25
"""Seconds of motion that are made up for at once; if more is missing, the motion is slower than real time."""


def endless(request: Json, out: Outbox) -> None:
    """Simulate in real time until the page stops it; then send the record, and save it as a run."""
    scenario = checked(request["model"])
    refuse("endless", scenario.chain)
    begun = LiveInSpace if scenario.chain.spatial else Live
    live = begun(scenario)
    record = Record(scenario.chain, live.columns())
    out.send("begin", chain=start_data(scenario), t_end=0.0, kept=record.seconds)
    with waiting(steps_of(live.motion.system, live.motion.method)):
        live.advance()
    live = begun(scenario)
    try:
        for behind in _paced(out):
            _hear(live, record, out)
            live.advance()
            if record.due(live.t):
                record.add(live.columns())
            if behind is not None and record.told < record.count:
                out.send("points", behind=behind, **record.news())
    except Failure as failure:
        record.failure = failure.status
    show(record.run(scenario, live.motion), request, out)


def _paced(out: Outbox) -> Iterator[float | None]:
    """Yield once for each piece, as time passes; each time a frame is over, how far in s the motion is behind real time."""
    begun, done, behind, told = time.perf_counter(), 0, 0.0, 0.0
    while not out.stopping:
        now = time.perf_counter()
        missing = now - begun - done * PIECE
        if missing < PIECE:
            time.sleep(max(0.0, min(PIECE - missing, FRAME)))
            continue
        if missing > MOST_BEHIND:
            begun += missing - MOST_BEHIND
            behind += missing - MOST_BEHIND
        done += 1
        over = now - told >= FRAME
        told = now if over else told
        yield behind if over else None


def _hear(live: Live, record: Record, out: Outbox) -> None:
    """Do what the page has asked for since the last piece."""
    for message in out.heard():
        try:
            if message.get("type") == "pull":
                _pull(live, record, message)
            elif message.get("type") == "model":
                _change(live, record, checked(message.get("model")))
        except ModelError as error:
            out.send("refused", text=str(error), path=error.path if isinstance(error, FieldError) else "")
    if out.dropped:
        raise Stopped


def _pull(live: Live, record: Record, message: Json) -> None:
    hand = message.get("hand")
    pull = live.pulls.of(hand, live.chain.n) if isinstance(hand, dict) else None
    if (pull is None) != (live.pull is None):
        record.note("hand off" if pull is None else f"hand on link {pull.link + 1}", live.columns())
    live.take_hold(pull)


def _change(live: Live, record: Record, scenario: Scenario) -> None:
    """Go on with other loads. Other links are another motion, which the page begins anew."""
    if scenario.chain.links != live.chain.links or scenario.chain.pin != live.chain.pin:
        raise FieldError("the links have changed; start the endless mode again")
    old, before = live.chain, live.columns()
    live.take(scenario.chain)
    record.change(old, scenario, before, live.columns())
