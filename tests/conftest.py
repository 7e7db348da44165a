"""Settings of the random tests: no deadlines (kernels are compiled on first use), the same cases every time in CI."""

import gc
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from browsing import browser as browser
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

os.environ.setdefault("NLINK_QUIET", "1")  # else what a command says would depend on what is compiled already
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each process that a test starts translates all of nlink anew

gc.set_threshold(50_000, 20, 20)  # the compiler makes so many objects that looking through them takes 5 % of the time

collect_ignore = ["extended_load.py"]  # a program: a load is registered before kernels are compiled

SLOW = set((Path(__file__).parent / "data" / "slow.txt").read_text(encoding="utf-8").split())
"""Tests that `make test` leaves out: each takes more than two seconds, or the files of several would take too long together."""


LONGEST = [
    "torture", "ensemble", "examples", "mechanism_series", "studio_browser", "space_series", "accessible", "varied", "balance",
    "space_lanes", "space_outputs", "ensemble_ftle", "player_browser", "plot", "space_ensembles", "studio_drawing", "taylor",
    "lagrange", "simulation", "space_studio", "closure", "uncompiled",
]  # fmt: skip
"""Files that take longest: they come first, so that at the end no process works on alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests, and begin with the longest files."""
    places = {f"test_{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))
    for item in items:
        if item.nodeid.partition("[")[0].removeprefix("tests/") in SLOW:
            item.add_marker("slow")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., SimpleNamespace]:
    """Call the command in this process: quicker than one of its own."""
    from nlink.cli import main

    def called(*arguments: str, cwd: Path) -> SimpleNamespace:
        for name, value in (("NO_COLOR", "1"), ("COLUMNS", "120")):
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(cwd)
        monkeypatch.setattr("sys.argv", ["nlink", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        told = capfd.readouterr()
        return SimpleNamespace(returncode=left.value.code, stdout=told.out, stderr=told.err)

    return called


@pytest.fixture
def call(
    here: Callable[..., SimpleNamespace], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[str], tuple[int, str, str]]:
    """Run a line of the command in an empty folder; return its exit code and what it prints."""
    monkeypatch.chdir(tmp_path)

    def called(line: str) -> tuple[int, str, str]:
        done = here(*shlex.split(line), cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr

    return called
