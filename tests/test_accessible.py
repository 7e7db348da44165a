"""Pages and the studio have no violation that axe finds: names, contrast, roles, keys, language, structure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import DESK, PHONE
from browsing import Tab as PageTab
from made_loop import made_loop
from made_run import made_run
from made_space import mixed_chain, spatial_run
from studio_server import studio
from studio_tab import MOTION, STUDIO, Tab, choose, wait

import nlink
from nlink.view.map_page import Layer, map_page
from nlink.view.modes_page import modes_page

SCREENS = {
    "desk": {"viewport": DESK},
    "dark": {"viewport": DESK, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
}
PANES = ("Motion", "Copies", "Compare", "Modes", "Stability", "Map", "Equations", "Code")


def violations(page: Any) -> list[str]:
    """Return what axe finds on a page, each rule with the elements that break it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [f"{each['id']}: {[node['target'] for node in each['nodes']][:5]}" for each in found]


def made_space(path: Path) -> None:
    spatial_run(mixed_chain(), np.linspace(0, 4, 81), title="Every kind of link").html(path)


def made_map(path: Path) -> None:
    x, y = np.linspace(0, 1, 30), np.linspace(0, 2, 20)
    map_page(x, y, [Layer("product", np.outer(y, x))], xlabel="x", ylabel="y", path=path)


def made_modes(path: Path) -> None:
    scenario = nlink.preset("nice-3")
    found = nlink.linearize(scenario.chain)
    modes_page(scenario, found, found.table(), path)


PAGES = {
    "run": lambda path: made_run().html(path),
    "loop": lambda path: made_loop().html(path),
    "live": lambda path: nlink.preset("chaotic-3").live(path, copies=3),
    "space": made_space,
    "map": made_map,
    "modes": made_modes,
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("kind", PAGES)
def test_a_page(browser, tmp_path, kind, screen):
    PAGES[kind](tmp_path / "page.html")
    with PageTab(browser, tmp_path / "page.html", **SCREENS[screen]) as page:
        assert violations(page) == []


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    with studio(tmp_path_factory.mktemp("runs")) as opened:
        yield opened


@pytest.mark.parametrize("screen", SCREENS)
def test_the_studio(browser, address, screen):
    with Tab(browser, address, **SCREENS[screen]) as page:
        wait(page, f"Boolean({MOTION}.run)")
        found = {}
        for pane in PANES:
            page.get_by_role("tab", name=pane, exact=True).click()
            found[pane] = violations(page)
        assert {pane: each for pane, each in found.items() if each} == {}


@pytest.mark.parametrize("screen", SCREENS)
def test_the_studio_with_a_chain_in_space(browser, address, screen):
    with Tab(browser, address, **SCREENS[screen]) as page:
        choose(page, "cone-2")
        wait(page, f"{MOTION}.inSpace && Boolean({MOTION}.run) && !{MOTION}.job")
        page.get_by_role("tab", name="Modes", exact=True).click()
        wait(page, f"{STUDIO}.pane.filled && !{STUDIO}.pane.job")
        found = {"Modes": violations(page)}
        for pane in ("Motion", "Copies", "Compare", "Map"):
            page.get_by_role("tab", name=pane, exact=True).click()
            found[pane] = violations(page)
        assert {pane: each for pane, each in found.items() if each} == {}


AT_FOCUS = """(() => {
  const a = document.activeElement;
  return a.getAttribute("aria-label") || a.textContent.trim().slice(0, 20) || a.tagName;
})()"""
"""What has the focus: its name, or its kind."""
RING = "(({ outlineStyle: line, boxShadow: glow }) => line !== 'none' || glow !== 'none')(getComputedStyle(document.activeElement))"
REACHABLE = """[...document.querySelectorAll("button:enabled, select, input:enabled, summary, canvas[tabindex='0'], a[href]")]
  .filter((node) => node.checkVisibility() && node.tabIndex >= 0).length"""
FIRST = """(() => {
  const { dataset } = document.activeElement, first = !dataset.passed;
  dataset.passed = "yes";
  return first;
})()"""
"""Whether the focus is here for the first time."""


def test_every_control_of_the_studio_in_space_is_reached_by_tab_and_shows_it(browser, address):
    with Tab(browser, address) as page:
        choose(page, "cone-2")
        wait(page, f"{MOTION}.inSpace && Boolean({MOTION}.run) && !{MOTION}.job")
        seen: list[str] = []
        page.keyboard.press("Tab")
        while page.evaluate(FIRST):
            if page.evaluate("document.activeElement !== document.body"):  # where the page is left and entered again
                seen.append(page.evaluate(AT_FOCUS))
                assert page.evaluate(RING), seen
            page.keyboard.press("Tab")
        assert len(seen) == page.evaluate(REACHABLE)
        some = {"Presets", "Endless", "Inclination of link 2 in degrees", "Motion", "Fit (f)", "Time", "Play (space)", "Look"}
        assert some <= set(seen)


def test_the_focus_is_not_lost_where_a_control_goes(browser, address):
    with Tab(browser, address) as page:
        choose(page, "cone-2")
        wait(page, f"{MOTION}.inSpace && Boolean({MOTION}.run) && !{MOTION}.job")
        page.get_by_role("checkbox", name="Joint dampers").focus()
        page.keyboard.press("Space")
        page.get_by_role("button", name="Undo").focus()
        while page.evaluate(f"{STUDIO}.model.past.length"):
            page.keyboard.press("Enter")
        assert page.evaluate(AT_FOCUS) == "Redo (Ctrl Shift Z)"
        while page.evaluate(f"{STUDIO}.model.future.length"):
            page.keyboard.press("Enter")
        assert page.evaluate(AT_FOCUS) == "Undo (Ctrl Z)"
        for name in ("Presets", "Open", "Save", "Take along", "Help"):
            page.get_by_role("button", name=name, exact=True).focus()
            page.keyboard.press("Enter")
            assert page.locator("dialog[open]").count() == 1
            page.keyboard.press("Escape")
            assert (page.locator("dialog[open]").count(), page.evaluate(AT_FOCUS)) == (0, name)
        page.get_by_role("checkbox", name="In space").focus()
        for _ in range(2):
            page.keyboard.press("Space")
            assert page.evaluate("document.activeElement.dataset.path") == "space"


def test_a_page_with_errors_is_noticed(browser, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text(
        "<!doctype html><html><head><title></title></head><body><h1>a</h1><img src='data:,'><button></button></body></html>"
    )
    with PageTab(browser, path) as page:
        assert {each.partition(":")[0] for each in violations(page)} >= {"image-alt", "button-name", "html-has-lang"}
