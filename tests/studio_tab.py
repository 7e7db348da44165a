"""A tab of a browser with the studio, and what tests do there."""

from __future__ import annotations

from typing import Any

import browsing
from browsing import wait as patient

STUDIO = "document.getElementById('studio').studio"
MOTION = f"{STUDIO}.motion"
PLAYER = f"{MOTION}.player"
STAGE = ".pane:not([hidden]) .stage canvas"


def wait(page: Any, condition: str, seconds: float = 60.0) -> None:
    """Wait for a condition on a page that computes."""
    patient(page, condition, seconds)


class Tab(browsing.Tab):
    """A tab with the studio, which asks for nothing but what its own server has."""

    def __init__(self, browser: Any, address: str, tour: bool = False, **context: Any) -> None:
        super().__init__(browser, address, **context)
        if not tour:
            self.context.add_init_script("localStorage.setItem('nlink-tour', 'seen')")
        self.page.on("websocket", lambda socket: self.asked.append(socket.url.replace("ws:", "http:")))

    def __enter__(self) -> Any:
        self.page.goto(self.address)
        self.page.wait_for_selector(".editor details")
        wait(self.page, f"Boolean({PLAYER})")
        return self.page

    def check_asked(self, urls: list[str]) -> None:
        assert [url for url in urls if not url.startswith(self.address.split("?")[0])] == []


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
