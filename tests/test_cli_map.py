"""`nlink map`: pictures, pages and data, slices, zooming, interruption, and wrong input."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import call

import nlink


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("map")
    done = call("map", "flip", "--links", "2", "--size", "30x24", "-o", "map.png", "--data", "map.nc", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "30 × 24 starts to t = 12.771 s: 6" in done.stdout
    assert "theta1 from -180 to 180, theta2 from -180 to 180" in done.stdout
    assert done.stderr.splitlines()[-2:] == ["nlink: wrote map.png", "nlink: wrote map.nc"]
    return folder


def test_picture_and_data(made: Path) -> None:
    assert (made / "map.png").stat().st_size > 20_000
    found = nlink.load_map(made / "map.nc")
    assert found.values.shape == (24, 30)
    here = nlink.chaos_map(nlink.Chain.uniform(2), size=(30, 24))
    assert np.array_equal(found.values, here.values, equal_nan=True)


def test_zooming_into_a_file_is_the_same_as_by_command(made: Path, here: Any) -> None:
    done = here("map", "map.nc", "--region", "60,120,80,130", "--size", "6x5", "-q", "-o", "zoom.nc", cwd=made)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    again = here("map", "flip", "--region", "60,120,80,130", "--size", "6x5", "-q", "-o", "again.nc", cwd=made)
    assert again.returncode == 0, again.stderr
    zoom, other = nlink.load_map(made / "zoom.nc"), nlink.load_map(made / "again.nc")
    assert np.array_equal(zoom.values, other.values, equal_nan=True)
    assert zoom.region == pytest.approx(np.radians([60, 120, 80, 130]))


def test_redrawing_a_file_as_a_page(made: Path, here: Any) -> None:
    done = here("map", "map.nc", "-o", "map.html", "--data", "map.csv", cwd=made)
    assert done.returncode == 0, done.stderr
    assert "Time of the first flip: 2 links" in (made / "map.html").read_text(encoding="utf-8")
    assert len((made / "map.csv").read_text(encoding="utf-8").splitlines()) == 721


def test_a_slice_of_three_links_as_json(tmp_path: Path, here: Any) -> None:
    options = ["-n", "3", "--x", "theta1", "--y", "theta3", "--at", "0,90,0", "--size", "6x4", "--until", "4", "--threads", "1"]
    done = here("map", "flip", *options, "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (found["x"], found["y"], found["size"], found["t_end"], found["unit"]) == ("theta1", "theta3", [6, 4], 4.0, "s")
    chain = nlink.Chain.uniform(3)
    same = nlink.chaos_map(chain, x="theta1", y="theta3", at=(0, np.radians(90.0), 0), size=(6, 4), t_end=4.0)
    assert found["least"] == np.nanmin(same.values)
    assert found["finite"] == np.isfinite(same.values).mean()
    assert not list(tmp_path.iterdir())


def test_a_preset_lies_at_its_start_and_gets_a_name(tmp_path: Path, here: Any) -> None:
    done = here("map", "energy", "point-2", "--size", "4x4", "--until", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == nlink.preset("point-2").title
    assert [file.name for file in tmp_path.iterdir()] == ["energy-point-2.png"]


def test_ctrl_c(tmp_path: Path, here: Any) -> None:
    threading.Timer(3.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    done = here("map", "flip", "--size", "600x600", "--until", "400", "-o", "map.png", cwd=tmp_path)
    assert done.returncode == 130
    assert re.search("stopped by the user after .* members; nothing is kept; with --store|interrupted", done.stderr)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["flop"], 3, "must be one of flip, link, ftle"),
        (["flip", "--x", "thta1"], 2, "--x must be theta1 ... theta2, omega1 ... omega2 or a parameter; got 'thta1'"),
        (["flip", "--region", "0,90"], 2, "--region must be four numbers x0,x1,y0,y1, got '0,90'"),
        (["flip", "--region", "0,90,a,b"], 2, "--region must be numbers with commas between them"),
        (["flip", "--region", "90,0,0,90"], 3, "with x0 < x1 and y0 < y1"),
        (["--size", "1000"], 2, "--size must read WIDTHxHEIGHT, like 1000x1000, got '1000'"),
        (["flip", "--size", "20"], 2, "--size must read WIDTHxHEIGHT"),
        (["flip", "--size", "2.5x3"], 2, "--size must be whole numbers of pixels"),
        (["flip", "--at", "1,x"], 2, "--at must be numbers with commas between them"),
        (["flip", "--threads", "0"], 2, "--threads must be a whole number, at least 1, got 0"),
        (["flip", "-o", "map.gif"], 2, "--output must end in .png, .svg, .pdf, .html, .nc or .csv, got map.gif"),
        (["flip", "--data", "map.png"], 2, "--data must end in .nc or .csv, got map.png"),
        (["flip", "-o", "none/map.png"], 5, "there is no folder none for map.png"),
        (["flip", "four-bar"], 2, "--x = theta1: the links of a closed chain cannot start one by one"),
        (["flip", "nobody"], 3, "there is no preset 'nobody'"),
        (["none.nc"], 5, "there is no map none.nc"),
        (["map.nc", "--x", "theta2"], 3, "keeps its chain and its plane; leave --x out"),
        (["flip", "--until", "soon"], 2, "Invalid value for '--until'"),
    ],
)
def test_wrong_input(tmp_path: Path, here: Any, arguments: list[str], code: int, message: str) -> None:
    done = here("map", *arguments, cwd=tmp_path)
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert done.returncode == code
    assert not list(tmp_path.iterdir())
