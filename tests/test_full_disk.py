"""A full disk: one sentence, exit 5, what was there stays, nothing half-written is left."""

from __future__ import annotations

import subprocess
import sys

import pytest
from full_disk import NoDisk, small_disk

import nlink
from nlink._support.files import MARKS

SAVE = """
import sys, nlink
run = nlink.simulate(nlink.Chain.uniform(3), [1.0, 2.0, 3.0], t_end=60.0)
try:
    run.save(sys.argv[1])
except OSError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


@pytest.fixture
def disk(tmp_path):
    try:
        with small_disk(tmp_path / "small", 600) as folder:
            yield folder
    except NoDisk as reason:
        pytest.skip(str(reason))


def command(*words):
    return subprocess.run([sys.executable, "-m", "nlink", *map(str, words)], capture_output=True, text=True, check=False)


def test_a_run_that_does_not_fit_leaves_the_one_before(disk):
    path = disk / "x.nc"
    assert command("run", "nice-3", "--until", "2", "-q", "-o", path).returncode == 0
    before = path.read_bytes()
    done = command("run", "chaotic-5", "--until", "300", "-q", "-o", path)
    assert (done.returncode, path.read_bytes() == before) == (5, True), done.stderr
    assert done.stderr == f"nlink: cannot write {path}: No space left on device; make room, or give another file\n"
    assert [each.name for each in disk.iterdir()] == ["x.nc"]


def test_saving_a_run_that_does_not_fit_does_not_crash(disk):
    done = subprocess.run([sys.executable, "-c", SAVE, str(disk / "x.nc")], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stderr == f"RunFileError: cannot write {disk / 'x.nc'}: No space left on device\n"
    assert not list(disk.iterdir())


def test_what_was_computed_before_the_disk_was_full_is_resumed(disk, tmp_path, monkeypatch):
    monkeypatch.setattr("nlink.simulation.streaming.SECONDS", 0.0)
    monkeypatch.setattr("nlink.simulation.streaming.SHARE", 0.0)
    monkeypatch.setattr("nlink.simulation.loop.FIRST_WORK", 0)
    chain, path = nlink.Chain.uniform(3), disk / "x.nc"
    with pytest.raises(OSError, match=r"No space left on device; the run up to t = \d.* s is in .*x.nc.part"):
        nlink.simulate(chain, [1.0, 2.0, 3.0], t_end=300.0, save=0.1, file=path)
    part = nlink.load(path)
    assert part.status.code == "interrupted"
    assert part.t[-1] > 1.0
    whole, end = nlink.simulate(chain, [1.0, 2.0, 3.0], t_end=20.0, save=0.1), part.checkpoint.t + 5.0
    assert (part.theta[:10] == whole.theta[:10]).all()
    resumed = part.resume(end, file=tmp_path / "y.nc")
    assert resumed.status.code == "finished"
    assert (resumed.theta[:10] == whole.theta[:10]).all()


@pytest.mark.parametrize("name", ["x.png", "x.svg", "x.pdf", "x.gif", "x.mp4", "x.html", "x.csv"])
def test_pictures_pages_and_tables_that_do_not_fit_leave_what_was_there(tmp_path, name):
    run = tmp_path / "run.nc"
    nlink.simulate(nlink.Chain.uniform(3), [1.0, 2.0, 3.0], t_end=10.0, file=run)
    words = {
        "csv": ["export", run, "-o"],
        "png": ["lyapunov", "point-2", "--until", "3", "-q", "-o"],
        "svg": ["lyapunov", "point-2", "--until", "3", "-q", "-o"],
        "pdf": ["lyapunov", "point-2", "--until", "3", "-q", "-o"],
    }.get(name[2:], ["animate", run, "-q", "-o"])
    try:
        with small_disk(tmp_path / "small", 8) as disk:
            old = b"t [s],old" if name == "x.csv" else MARKS[0]
            (disk / name).write_bytes(old)
            done = command(*words, disk / name)
            assert done.returncode == 5, done.stderr
            assert (disk / name).read_bytes() == old
            assert len(done.stderr.strip().splitlines()) == 1, done.stderr
            assert [each.name for each in disk.iterdir()] == [name]
    except NoDisk as reason:
        pytest.skip(str(reason))
