"""Take the ten most used views as small pictures, of the nlink that Python finds.

docs/views.md shows them before and after a change.

python scripts/views.py docs/views            # NAME.webp
python scripts/views.py docs/views -before    # NAME-before.webp, with the PYTHONPATH of an earlier checkout

What an earlier version does not have is left out. Chromium is needed: make system.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Error, sync_playwright

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
WIDE, HIGH, QUALITY = 640, 520, 55
PATIENCE = 100_000
"""Milliseconds for what compiles first."""
NLINK = [sys.executable, "-m", "nlink"]


def nlink(*arguments: str) -> None:
    """Run a command."""
    done = subprocess.run([*NLINK, *arguments], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)


@contextmanager
def studio(model: str, runs: str) -> Iterator[str]:
    """Yield the address of a studio."""
    command = [*NLINK, "studio", model, "--port", "0", "--no-browser", "--runs", runs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            yield answering(process.stdout.readline().strip())
        finally:
            os.killpg(process.pid, signal.SIGINT)


def answering(address: str) -> str:
    """Return an address once it answers; earlier versions print it before they listen."""
    end = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            urllib.request.urlopen(address).close()
            return address
        except urllib.error.URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def still(page: Any) -> None:
    """Wait until nothing has been computed for a second."""
    page.wait_for_function(
        """() => {
          const s = document.getElementById('studio').studio;
          if (s.pane.job || s.motion.job || !window.quiet) window.quiet = performance.now();
          return performance.now() - window.quiet > 1000;
        }""",
        timeout=PATIENCE,
    )


def press(tab: str, button: str) -> Callable[[Any], None]:
    """Return what opens a view of the studio and presses its button."""

    def act(page: Any) -> None:
        page.get_by_role("tab", name=tab).click()
        page.get_by_role("button", name=button, exact=True).click()
        still(page)

    return act


def wrong(page: Any) -> None:
    """Type a mass that cannot be."""
    page.get_by_label("Mass", exact=True).fill("-1")
    page.wait_for_timeout(1500)


def gallery(page: Any) -> None:
    """Open the presets."""
    page.get_by_role("button", name="Presets").click(timeout=5000)
    page.wait_for_timeout(1500)


STUDIO: dict[str, tuple[str, dict[str, Any], Callable[[Any], None] | None]] = {
    "studio": ("chaotic-5", {}, None),
    "studio-phone": ("chaotic-5", {"viewport": PHONE, "color_scheme": "dark"}, None),
    "studio-loop": ("four-bar", {}, None),
    "studio-wrong": ("chaotic-3", {}, wrong),
    "studio-stability": ("follower-5", {}, press("Stability", "Draw")),
    "studio-presets": ("chaotic-5", {}, gallery),
    "studio-map": ("point-2", {"color_scheme": "dark"}, press("Map", "Compute")),
}
"""Views of the studio by their names: the model, how the browser differs, what is done."""
PAGES = {"player": {"viewport": DESK}, "player-phone": {"viewport": PHONE, "color_scheme": "dark"}, "live": {"viewport": DESK}}


def main(folder: str, suffix: str = "") -> None:
    """Take all views."""
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (model, look, act) in STUDIO.items():
            with studio(model, scratch) as address:
                shoot(browser, address, into / f"{name}{suffix}.webp", look, act, ".editor details")
        files = {"player": Path(scratch, "run.html"), "player-phone": Path(scratch, "run.html"), "live": Path(scratch, "live.html")}
        nlink("run", "chaotic-3-springs-friction", "-q", "-o", f"{scratch}/run.nc")
        nlink("animate", f"{scratch}/run.nc", "-q", "-o", str(files["player"]))
        try:
            nlink("live", "point-2", "--copies", "20", "-q", "-o", str(files["live"]))
        except RuntimeError:
            del files["live"]
        for name, file in files.items():
            shoot(browser, file.as_uri(), into / f"{name}{suffix}.webp", PAGES[name], None, "h1")
        browser.close()


def shoot(browser: Any, address: str, path: Path, look: dict[str, Any], act: Callable[[Any], None] | None, ready: str) -> None:
    """Open a page, act, and keep a small picture of it."""
    context = browser.new_context(**({"viewport": DESK, "color_scheme": "light"} | look))
    context.add_init_script("localStorage.setItem('nlink-tour', 'seen')")
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(ready)
    try:
        if "token" in address:
            still(page)
        page.wait_for_timeout(3000)
        if act:
            act(page)
    except Error as error:
        print(path.name, re.sub(r"\n.*", "", str(error), flags=re.DOTALL), file=sys.stderr)
    whole = path.with_suffix(".png")
    page.screenshot(path=whole)
    shrink(whole, path)
    whole.unlink()
    context.close()


def shrink(source: Path, path: Path) -> None:
    """Keep a picture within some pixels."""
    with Image.open(source) as image:
        small = image.convert("RGB")
        small.thumbnail((WIDE, HIGH))
        small.save(path, quality=QUALITY, method=6)
    print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
