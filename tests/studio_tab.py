"""A tab of a browser with the studio, and what tests do there."""

from __future__ import annotations

import time
from typing import Any

from browsing import DESK

STUDIO = "document.getElementById('studio').studio"
MOTION = f"{STUDIO}.motion"
PLAYER = f"{MOTION}.player"
STAGE = ".pane:not([hidden]) .stage canvas"


class Tab:
    """A tab that remembers what it logged and asked for; both must stay clean."""

    def __init__(self, browser: Any, address: str, tour: bool = False, **context: Any) -> None:
        options = {"viewport": DESK, "reduced_motion": "reduce", "color_scheme": "light"}
        self.context = browser.new_context(**(options | context))
        if not tour:
            self.context.add_init_script("localStorage.setItem('nlink-tour', 'seen')")
        self.page, self.address = self.context.new_page(), address
        self.logged: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.logged.append(message.text))
        self.page.on("pageerror", lambda error: self.logged.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url.replace("ws:", "http:")))

    def __enter__(self) -> Any:
        self.page.goto(self.address)
        self.page.wait_for_selector(".editor details")
        wait(self.page, f"Boolean({PLAYER})")
        return self.page

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.context.close()
        if kind is None:
            assert self.logged == []
            home = self.address.split("?")[0]
            assert [url for url in self.asked if not url.startswith((home, "data:", "blob:"))] == []


def wait(page: Any, condition: str, seconds: float = 60.0) -> None:
    """Wait for a condition; asked from outside, since the policy of the page lets nobody evaluate text inside."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(20)


def run(page: Any) -> None:
    """Press Run and wait for the end."""
    ran(page)
    page.get_by_role("button", name="Run", exact=True).click()
    wait(page, f"!{MOTION}.job && {MOTION}.run")


def fill(page: Any, label: str, value: str) -> None:
    page.get_by_role("textbox", name=label, exact=True).fill(value)


def choose(page: Any, preset: str) -> None:
    page.get_by_role("button", name="Presets", exact=True).click()
    page.locator(".gallery button", has=page.get_by_text(preset, exact=True)).click()


def settled(page: Any) -> None:
    """Wait until the server has answered about the model."""
    wait(page, f"{STUDIO}.judged === {STUDIO}.model.table")


def ran(page: Any) -> None:
    """Wait until the model has run as it stands."""
    settled(page)
    wait(page, f"!{MOTION}.job && !{MOTION}.next && {MOTION}.run")
