"""A real browser for tests of pages: a tab that remembers what its page logged and asked for."""

from __future__ import annotations

import base64
import io
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless browser; in CI it must be there."""
    absent = pytest.fail if os.environ.get("CI") else pytest.skip
    if CHROMIUM is None:
        absent("needs Chromium: make system")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("needs playwright: make setup")
        raise
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Tab:
    """A page in the browser that remembers what it logged and asked for."""

    def __init__(self, browser: Any, file: Path | str, **context: Any) -> None:
        self.context = browser.new_context(**({"viewport": DESK, "reduced_motion": "reduce", "color_scheme": "light"} | context))
        self.page = self.context.new_page()
        self.logged: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.logged.append(message.text))
        self.page.on("pageerror", lambda error: self.logged.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.address = file.as_uri() if isinstance(file, Path) else file

    def __enter__(self) -> Any:
        self.page.goto(self.address)
        self.page.wait_for_selector("h1")
        return self.page

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.context.close()
        if kind is None:
            assert self.logged == []
            self.check_asked([url for url in self.asked if not url.startswith(("data:", "blob:"))])

    def check_asked(self, urls: list[str]) -> None:
        """Check what the page asked for over the network: nothing but itself."""
        assert urls == [self.address]


def settle(page: Any) -> None:
    """Wait until what was asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def wait(page: Any, condition: str, seconds: float = 10.0) -> None:
    """Wait for a condition; asked from outside, since the policy of the page lets nobody evaluate text inside."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(20)


def pixels(page: Any, canvas: str) -> np.ndarray:
    """Return the pixels of a canvas."""
    text = page.eval_on_selector(canvas, "(c) => c.toDataURL('image/png')")
    with Image.open(io.BytesIO(base64.b64decode(text.split(",")[1]))) as image:
        return np.asarray(image.convert("RGB"), int)
