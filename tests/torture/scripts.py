"""Attacks by names: titles, events, functions and labels that are scripts, in pages, pictures, notebooks and the studio."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from made_run import made_run

from nlink.mechanics.chain import Chain
from nlink.mechanics.loads import Gravity, JointTorque
from nlink.run.run import EventRecord, Run
from nlink.scenario import LostFunction, Scenario
from torture.attack import Absent, attack

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HIT = "globalThis.hit=1;document.title='hit'"
COUNT = "document.querySelectorAll('img[src=x], svg[onload], a[href^=javascript], iframe:not([title=\\'A run\\'])').length"
"""Elements that only a name can have brought in."""
NAMES = [
    f"<script>{HIT}</script>",
    f'"><img src=x onerror="{HIT}">',
    f"</script><script>{HIT}</script>",
    f"]]></style></title><svg onload={HIT}>",
    f"'-{HIT}-'",
    f"${{{HIT}}}`\\u003cscript\\u003e",
    f"<iframe srcdoc='<script>parent.{HIT}</script>'>",
    r"$\frac{$ &lt;b&gt; <b>x</b> <!-- --!>",
    f"javascript:{HIT}",
    "<a href='javascript:globalThis.hit=1'>x</a>&amp;",
]


@contextlib.contextmanager
def page() -> Iterator[Any]:
    """Yield a page of a real browser that remembers dialogues and requests."""
    if CHROMIUM is None:
        raise Absent("needs Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise Absent("needs playwright") from None
    with sync_playwright() as begun:
        browser = begun.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_context().new_page()
        opened.on("dialog", lambda dialog: dialog.dismiss())
        yield opened
        browser.close()


def named_run(name: str) -> Run:
    """Return a run whose title, event and torque have this name."""
    chain = Chain.uniform(2).with_loads(Gravity(9.81), JointTorque(LostFunction(name)))
    run = made_run(chain=chain, title=name)
    theta, omega = run.theta[50], run.omega[50]
    return replace(run, events=[EventRecord(0.5, name, theta, omega, {"direction": 1})])


def quiet(at: Any, name: str, shown: bool = True) -> None:
    """Insist that nothing ran in a page and in its frames, and that the name shows as text."""
    for frame in at.frames:
        assert frame.evaluate("globalThis.hit") is None, frame.url
        assert frame.evaluate(COUNT) == 0
    assert at.title() != "hit"
    if shown:
        text = " ".join(at.evaluate("document.body.innerText").split())
        assert name[:12].replace("  ", " ") in text, text[:400]


@attack("nothing runs, the text shows as text", full=len(NAMES), sample=1)
def names_that_are_scripts(k: int, folder: Path) -> None:
    """Open pages, a notebook's frame and pictures with such names in the browser."""
    from nlink.view.map_page import Layer, map_page
    from nlink.view.page import notebook_frame, run_page
    from nlink.view.plot import save_plots

    name, run = NAMES[k], named_run(NAMES[k])
    run_page(run, folder / "run.html")
    x = np.linspace(0, 1, 4)
    layers = [Layer(name, np.zeros((4, 4)), name), Layer("other", np.ones((4, 4)))]
    map_page(x, x, layers, xlabel=name, ylabel=name, title=name, summary=name, lines=[(name, name)], path=folder / "map.html")
    (folder / "notebook.html").write_text(f"<!doctype html><meta charset=utf-8><body>{notebook_frame(run)}", encoding="utf-8")
    save_plots(run, folder, names=["angles"], format="svg")
    with page() as at:
        for file in ("run.html", "map.html", "notebook.html", "angles.svg"):
            at.goto((folder / file).as_uri())
            at.wait_for_timeout(250)
            if file.endswith("svg"):
                assert at.evaluate("globalThis.hit") is None
            else:
                quiet(at, name, file != "notebook.html")


@attack("nothing runs, the text shows as text", full=len(NAMES), sample=0)
def names_that_are_scripts_in_the_studio(k: int, folder: Path) -> None:
    """Give the studio a model with such a title, and a preset of such a name."""
    from torture.studio import server

    at = server()
    model = {"links": 2, "title": NAMES[k], "loads": {"joint_torque": {"function": NAMES[k]}}}
    status, body = at.ask("POST", "/api/check", json.dumps({"model": model}).encode())
    assert status == 200, body
    Scenario(Chain.uniform(2), (0.1, 0.2), title=NAMES[k]).save(folder / "m.toml")
    with page() as tab:
        tab.goto(at.address)
        tab.wait_for_selector(".editor details")
        with tab.expect_file_chooser() as chooser:
            tab.evaluate("document.querySelector('input[type=file]')?.click()")
        chooser.value.set_files(folder / "m.toml")
        tab.wait_for_timeout(600)
        quiet(tab, NAMES[k], shown=False)
        assert NAMES[k][:12] in tab.title(), tab.title()
