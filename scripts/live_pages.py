"""Write the pages in docs/live that the README and the guide lead to: chains that are simulated in the browser.

python scripts/live_pages.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import nlink

FOLDER = Path(__file__).parents[1] / "docs" / "live"
PAGES = {
    "chaotic-5": (replace(nlink.preset("chaotic-5"), title="Five rods"), 0),
    "double-pendulum": (
        nlink.Scenario(nlink.Chain.uniform(2), theta=(2.0, 2.5), title="A double pendulum and twenty near-copies"),
        20,
    ),
}
"""By the names of their files: a scenario and the number of its near-copies."""


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, (scenario, copies) in PAGES.items():
        print(scenario.live(FOLDER / f"{name}.html", copies=copies, difference=1e-4))


if __name__ == "__main__":
    main()
