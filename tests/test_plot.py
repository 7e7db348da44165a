"""Plots: every kind in every format, what their lines hold, and what is refused."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from importlib.resources import files

import matplotlib as mpl
import numpy as np
import pytest
from made_loop import made_loop
from made_mechanism import MECHANISMS, moved
from made_run import made_run, motion
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from nlink._support.checks import ModelError
from nlink.mechanics import kinematics
from nlink.mechanics.loads import LOADS, ledger
from nlink.mechanics.points import At
from nlink.run.run import Run
from nlink.view import plot
from nlink.view.outline import traced_point
from nlink.view.plot import PLOTS, figure, save_plots, suiting
from nlink.view.style import COLUMN, CURVES, DARK, DASHES, LIGHT, link_colours, palette
from nlink.view.words import point_text

OPEN = [name for name in PLOTS if name != "coupler"]
CLOSED = [name for name in PLOTS if name != "tip"]
OVER_TIME = ("angles", "unwrapped", "rates", "positions", "velocities", "energy", "reactions")
MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def data(drawn: Figure, row: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the lines of one axes that are more than a mark, as (x, y)."""
    lines = [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in drawn.axes[row].lines]
    return [(x, y) for x, y in lines if len(x) > 2]


def rendered(drawn: Figure) -> bytes:
    """Return the figure as it is written, at a low resolution."""
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="png", dpi=30)
    return buffer.getvalue()


def at_saved(run: Run, line: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the values of a line over time at the saved times."""
    x, y = line
    return y[np.searchsorted(x, run.t)]


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_every_plot_is_written_in_every_format(tmp_path, format):
    run = made_run(2, spin=4.0, work=("joint_torque",), trusted=0.5)
    paths = save_plots(run, tmp_path / "new" / "folder", names=OPEN, format=format, dpi=50)
    assert [path.name for path in paths] == [f"{name}.{format}" for name in OPEN]
    assert sorted(paths) == sorted((tmp_path / "new" / "folder").iterdir())
    for path in paths:
        content = path.read_bytes()
        assert content.startswith(MAGIC[format])
        assert len(content) > 4000
    if format == "png":
        for path in paths:
            with Image.open(path) as image:
                assert image.size == (400, 250)
                assert len(image.convert("RGB").getcolors(2**16) or []) > 50


def test_names_and_default_choice(tmp_path):
    assert [p.name for p in save_plots(made_run(), tmp_path, names=["tip"], dpi=40)] == ["tip.png"]
    assert [p.name for p in save_plots(made_run(), tmp_path, names="rates", dpi=40)] == ["rates.png"]
    still, turning = made_run(), made_run(spin=8.0)
    assert suiting(turning) == OPEN
    assert suiting(still) == [name for name in OPEN if name != "unwrapped"]
    assert suiting(made_loop()) == CLOSED
    assert suiting(made_loop(2)) == [name for name in CLOSED if name != "coupler"]


def test_a_link_that_starts_beyond_a_turn_but_does_not_pass_has_not_turned_over():
    run = made_run()
    run.theta = run.theta + 6 * np.pi
    assert "unwrapped" not in suiting(run)


@pytest.mark.parametrize(("n", "entries"), [(1, 0), (2, 2), (6, 6), (7, 0), (15, 0)])
@pytest.mark.parametrize("name", ["angles", "positions", "paths"])
def test_few_links_have_a_legend_and_many_a_colour_bar(name, n, entries):
    drawn = figure(made_run(n), name)
    bars = [axes for axes in drawn.axes if axes.get_label() == "<colorbar>"]
    assert [len(legend.get_texts()) for legend in drawn.legends] == ([entries] if entries else [])
    assert [axes.get_ylabel() for axes in bars] == (["link"] if n > 6 else [])


def test_colours_of_the_legend_are_those_of_the_lines():
    drawn = figure(made_run(3), "rates")
    assert [h.get_color() for h in drawn.legends[0].legend_handles] == [line.get_color() for line in drawn.axes[0].lines]
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == [r"$\omega_{1}$", r"$\omega_{2}$", r"$\omega_{3}$"]


@pytest.mark.parametrize("spin", [9.0, -9.0, 0.0])
def test_wrapped_angles_break_where_they_wrap(spin):
    run = made_run(3, times=np.arange(301) / 100, spin=spin)
    turns = np.ceil((run.at(np.linspace(0, 3, 20001)).theta - np.pi) / (2 * np.pi))
    for i, (x, y) in enumerate(data(figure(run, "angles"))):
        gaps = np.flatnonzero(np.isnan(y))
        assert len(gaps) == np.count_nonzero(np.diff(turns[:, i]))
        assert np.nanmax(np.abs(np.diff(y))) < 30  # a jump across would be 360
        np.testing.assert_allclose(y[gaps - 1], 180.0 * np.sign(spin))  # up to the edge, and on from the other one
        np.testing.assert_allclose(y[gaps + 1], -180.0 * np.sign(spin))
        exact = np.degrees(motion(3, x, spin).theta[:, i])
        np.testing.assert_allclose((exact - y)[~np.isnan(y)] / 360, np.round((exact - y)[~np.isnan(y)] / 360), atol=1e-4)


def test_an_angle_at_rest_straight_up_stays_at_the_upper_edge():
    t = np.linspace(0, 1, 5)
    _, y = plot.broken(t, np.full(5, 180.0))
    np.testing.assert_array_equal(y, np.full(5, 180.0))


def test_lines_hold_what_the_run_holds():
    run = made_run(2, spin=8.0)
    for name, expected in {
        "rates": [run.omega],
        "unwrapped": [run.theta / (2 * np.pi)],
        "positions": [run.positions()[:, 1:, 0], run.positions()[:, 1:, 1]],
        "velocities": [run.velocities()[:, 1:, 0], run.velocities()[:, 1:, 1]],
        "reactions": [np.linalg.norm(run.reactions(), axis=-1)],
    }.items():
        drawn = figure(run, name)
        for row, values in enumerate(expected):
            lines = data(drawn, row)
            assert len(lines) == 2
            for i, line in enumerate(lines):
                np.testing.assert_allclose(at_saved(run, line), values[:, i], atol=1e-9, err_msg=name)


def test_paths_are_those_of_the_link_ends_on_equal_axes():
    run = made_run(2, times=np.linspace(0, 2, 2500))
    drawn = figure(run, "paths")
    for i, (x, y) in enumerate(data(drawn)):
        np.testing.assert_allclose(np.stack([x, y], 1), run.positions()[:, i + 1])
    pieces = figure(run, "tip").axes[0].collections[0]
    np.testing.assert_allclose([path.vertices[0] for path in pieces.get_paths()], run.positions()[:-1, -1])
    for name in ("paths", "tip"):
        assert figure(run, name).axes[0].get_aspect() == 1.0


def test_sparse_points_are_joined_as_the_motion_went():
    run = made_run(2, times=[0.0, 1.0, 2.0], knots=np.linspace(0, 2, 81))
    for i, (x, y) in enumerate(data(figure(run, "rates"))):
        assert len(x) >= 2000
        np.testing.assert_allclose(y, motion(2, x).omega[:, i], atol=1e-5)


def test_energy_shows_changes_work_and_residual():
    run = made_run(2, times=np.linspace(0, 1, 2500), work=("joint_torque", "joint_damper"))
    run.kinetic = run.kinetic + 1e-6 * run.t
    drawn = figure(run, "energy")
    texts = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert texts == ["total", "kinetic", "potential", "work of\njoint torque", "work of\njoint damper"]
    total = run.kinetic + run.potential
    expected = [total - total[0], run.kinetic - run.kinetic[0], run.potential - run.potential[0], *run.work.values()]
    for (_, y), values in zip(data(drawn), expected, strict=True):
        np.testing.assert_allclose(y, values, atol=1e-12)
    ((_, residual),) = data(drawn, 1)
    np.testing.assert_allclose(residual, 1e-6 * run.t, atol=1e-12)


@pytest.mark.parametrize("name", OVER_TIME)
def test_the_trusted_time_is_marked(name):
    def upright(run: Run) -> list[float]:
        lines = [line for axes in figure(run, name).axes for line in axes.lines if len(line.get_xdata()) == 2]
        return [float(np.asarray(line.get_xdata())[0]) for line in lines]

    assert set(upright(made_run(trusted=0.25))) == {0.25}
    assert upright(made_run()) == []
    assert upright(made_run(trusted=7.0)) == []  # trusted to its end and beyond
    assert "trusted until 0.25 s" in figure(made_run(trusted=0.25), name).axes[-1].get_xlabel()


def test_peaks_of_force_get_a_logarithmic_scale():
    run = made_run(2)
    assert figure(run, "reactions").axes[0].get_yscale() == "linear"
    run.alpha[50] = 1e6
    assert figure(run, "reactions").axes[0].get_yscale() == "log"


@pytest.mark.parametrize(
    "run",
    [made_run(2, times=[0.3]), made_run(1), made_run(100, times=np.linspace(0, 1, 20)), made_run(2, times=-np.arange(50) / 50)],
    ids=["one point", "one link", "100 links", "backwards"],
)
@pytest.mark.parametrize("name", OPEN)
def test_unusual_runs_are_drawn(run, name):
    drawn = figure(run, name, size=(6, 4))
    assert len(rendered(drawn)) > 1000
    assert all(np.isfinite(axes.get_xlim()).all() for axes in drawn.axes)


@pytest.mark.parametrize(
    "run",
    [made_loop(3, times=[0.3]), made_loop(2), made_loop(60, times=np.linspace(0, 1, 20)), made_loop(4, times=-np.arange(50) / 50)],
    ids=["one point", "two links", "60 links", "backwards"],
)
@pytest.mark.parametrize("name", CLOSED)
def test_unusual_closed_chains_are_drawn(run, name):
    if name in suiting(run) or name != "coupler":
        drawn = figure(run, name, size=(6, 4))
        assert len(rendered(drawn)) > 1000
        assert all(np.isfinite(axes.get_xlim()).all() for axes in drawn.axes)


@pytest.mark.parametrize("name", ["paths", "coupler"])
def test_pivot_and_pin_are_shown(name):
    axes = figure(made_loop(4), name).axes[0]
    marks = {line.get_marker(): (*line.get_xdata(), *line.get_ydata()) for line in axes.lines if line.get_marker() in ("+", "x")}
    assert marks == {"+": (0.0, 0.0), "x": (2.0, 0.0)}
    assert axes.get_xlabel() == "x (m), + pivot, \N{MULTIPLICATION SIGN} pin"
    assert figure(made_run(4), "paths").axes[0].get_xlabel() == "x (m)"


def test_the_last_end_is_named_as_held():
    texts = [text.get_text() for text in figure(made_loop(3), "positions").legends[0].get_texts()]
    assert texts == ["end 1", "end 2", "end 3, at pin"]


def test_coupler_curves_of_a_four_bar():
    run = made_loop(3, times=np.linspace(0, 1, 2500), inner=1.5)
    drawn = figure(run, "coupler")
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["end 1", "end 2", "middle", "l/3 left", "l/3 right"]
    linkage, *curves = [np.stack(line, 1) for line in data(drawn)]
    np.testing.assert_allclose(linkage, run.positions()[0])
    first = kinematics.hinges(run.chain, run.theta)[:, 1]  # the coupler stays level: all its points go round alike
    for curve, aside in zip(curves, [(0, 0), (1.5, 0), (0.75, 0), (0.75, 0.5), (0.75, -0.5)], strict=True):
        np.testing.assert_allclose(curve, first + aside, atol=1e-12)
    assert [line.get_color() for line in drawn.legends[0].legend_handles] == [line.get_color() for line in drawn.axes[0].lines[-5:]]
    assert drawn.axes[0].get_aspect() == 1.0


@pytest.mark.parametrize(("n", "names"), [(4, ["link 2", "link 3"]), (6, ["link 2", "link 3", "link 4", "link 5"]), (30, [])])
def test_coupler_curves_of_more_links(n, names):
    run = made_loop(n, times=np.linspace(0, 1, 2500))
    drawn = figure(run, "coupler")
    assert [text.get_text() for legend in drawn.legends for text in legend.get_texts()] == names
    assert [axes.get_ylabel() for axes in drawn.axes[1:]] == ([] if names else ["link"])
    _, *curves = data(drawn)
    ends = run.positions()
    assert len(curves) == n - 2
    for i, (x, y) in enumerate(curves, start=1):
        np.testing.assert_allclose(np.stack([x, y], 1), (ends[:, i] + ends[:, i + 1]) / 2, atol=1e-12)


@pytest.mark.parametrize(
    ("run", "name", "message"),
    [
        (made_run(3), "coupler", "^the plot 'coupler' needs a closed chain of three links or more: one with a pin$"),
        (made_loop(2), "coupler", "^the plot 'coupler' needs a closed chain of three links or more: one with a pin$"),
        (made_loop(3), "tip", "^the plot 'tip' needs an open chain: here the last end stays at the pin$"),
    ],
)
def test_a_plot_the_chain_has_not_is_refused(tmp_path, run, name, message):
    for draw in (lambda: figure(run, name), lambda: save_plots(run, tmp_path / "new", names=["angles", name])):
        with pytest.raises(ModelError, match=message):
            draw()
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("n", [3, 6, 7])
def test_the_force_of_the_pin_is_shown_as_such(n):
    run = made_loop(n)
    drawn = figure(run, "reactions")
    legend = drawn.legends[0] if n <= 6 else drawn.axes[0].get_legend()
    assert legend is not None
    assert legend.get_texts()[-1].get_text() == "pin"
    assert len(legend.get_texts()) == (n + 1 if n <= 6 else 1)
    lines = data(drawn)
    assert len(lines) == n + 1
    for i, (x, y) in enumerate(lines):
        np.testing.assert_array_equal(x, run.t)  # at the saved points: between them the force of the pin is not known
        np.testing.assert_allclose(y, np.linalg.norm(run.reactions()[:, i], axis=-1))
    np.testing.assert_allclose(lines[-1][1], np.hypot(3 + run.t, 4 + run.t))
    assert legend.legend_handles[-1].get_color() == drawn.axes[0].lines[-1].get_color()


def test_forces_beyond_measure_cut_the_axis_and_are_told():
    def drawn(*values: float) -> tuple[Figure, str]:
        run = made_loop(3, times=np.linspace(0, 1, 2001))
        run.pin_force[100 : 100 + len(values)] = np.array(values)[:, None]
        shown = figure(run, "reactions")
        assert rendered(shown)
        return shown, shown.axes[0].get_title(loc="left")

    calm, title = drawn()
    assert title == "Forces at the hinges"
    top, scale = calm.axes[0].get_ylim()[1], calm.axes[0].get_yscale()
    assert scale == "linear"
    lost, title = drawn(np.inf, np.nan)
    assert title == "Forces at the hinges\naxis cut: not finite at 2 of 2001 times"
    assert lost.axes[0].get_ylim()[1] == pytest.approx(top, rel=0.01)
    _, pin = data(lost)[-1]
    assert np.isfinite(pin).all()  # the lines run out of the axis, without a gap
    assert pin[100:102].min() > top
    huge, title = drawn(1e15, 1e15, -np.inf)
    assert title == "Forces at the hinges\naxis cut: peaks reach 1.4e+15 N, not finite at 1 of 2001 times"
    assert huge.axes[0].get_yscale() == "log"
    assert top < huge.axes[0].get_ylim()[1] < 1e3 * top
    high, title = drawn(5e3)
    assert title == "Forces at the hinges"  # a logarithmic axis holds it
    assert high.axes[0].get_yscale() == "log"
    assert high.axes[0].get_ylim()[1] > 7.1e3


def test_forces_none_of_which_is_finite_are_drawn():
    run = made_loop(3)
    run.pin_force[:] = np.nan
    drawn = figure(run, "reactions")
    assert rendered(drawn)
    assert "not finite at 101 of 101 times" in drawn.axes[0].get_title(loc="left")


@pytest.mark.parametrize("name", OVER_TIME)
def test_dead_positions_are_marked_if_few(name):
    def dotted(run: Run) -> list[float]:
        axes = figure(run, name).axes[0]
        assert axes.get_xlabel().endswith("dotted: dead positions") == any(len(line.get_xdata()) == 2 for line in axes.lines)
        return [float(line.get_xdata()[0]) for line in axes.lines if len(line.get_xdata()) == 2]

    marked = name in ("angles", "unwrapped", "rates", "reactions")
    assert dotted(made_loop(dead=(0.25, 0.5, 7.0))) == ([0.25, 0.5] if marked else [])  # the last lies beyond the run
    assert len(dotted(made_loop(dead=tuple(np.linspace(0, 1, 60))))) == (60 if marked else 0)
    assert dotted(made_loop(dead=tuple(np.linspace(0, 1, 61)))) == []


def test_a_run_without_points_is_refused(tmp_path):
    empty = made_run(2, times=[])
    for draw in (lambda: figure(empty, "angles"), lambda: save_plots(empty, tmp_path / "new")):
        with pytest.raises(ModelError, match="the run holds no saved point to plot"):
            draw()
    assert not (tmp_path / "new").exists()


def test_title_is_taken_as_text_and_has_a_stand_in():
    def title(text: str, n: int = 2) -> str:
        drawn = figure(made_run(n, title=text), "rates")
        assert rendered(drawn)
        assert drawn.axes[0].get_title(loc="left") == "Angular velocities"
        return drawn.get_suptitle()

    assert title(r"costs $\nought$" + "\nand 10%") == r"costs $\nought$ and 10%"
    assert title("", 3) == "Chain of 3 links"
    assert title("", 1) == "One link"
    whole = title("long " * 50)
    assert whole.replace("\n", " ") == ("long " * 50).strip()
    assert max(map(len, whole.split("\n"))) < 100


def test_small_motions_are_shown_close_up():
    run = made_run(2, spin=8.0)
    wide = figure(run, "tip").axes[0].get_ylim()
    assert wide[0] < 0 < wide[1]  # the pivot is in it
    assert figure(run, "angles").axes[0].get_ylim() == (-190, 190)
    run.theta, run.omega, run.alpha = 1e-3 * run.theta, 1e-3 * run.omega, 1e-3 * run.alpha
    close = figure(run, "tip").axes[0]
    assert np.ptp(close.get_ylim()) < 0.1
    low, high = figure(run, "angles").axes[0].get_ylim()
    assert -1 < low < high < 1


def test_size_and_fontsize():
    drawn = figure(made_run(), "rates", size=(5, 2.5), fontsize=8)
    assert tuple(drawn.get_size_inches()) == (5, 2.5)
    assert drawn.axes[0].xaxis.label.get_fontsize() == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["angels"]}, r"plot must be one of angles, .*, reactions; got 'angels' \(did you mean 'angles'\?\)"),
        ({"format": "bmp"}, "format must be one of png, svg, pdf; got 'bmp'"),
        ({"size": 5}, r'size must be \(width, height\) in inches or "column", got 5'),
        ({"size": (5, 0)}, r"size\[1\] must be at least 1, got 0"),
        ({"fontsize": 0}, "fontsize must be positive, got 0"),
        ({"dpi": -1}, "dpi must be positive, got -1"),
        ({"dpi": 1e5}, "size times dpi must be at most 32768 pixels, got 800000"),
    ],
)
def test_bad_values_are_refused(tmp_path, options, message):
    with pytest.raises(ModelError, match=message):
        save_plots(made_run(), tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


def test_progress_is_told(tmp_path):
    told = []
    save_plots(made_run(), tmp_path, names=["tip", "rates"], dpi=40, progress=lambda *step: told.append(step))
    assert told == [(1, 2), (2, 2)]


def test_a_failed_plot_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "tip.png").write_text("old, by nlink")

    def full(self, file, **options):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", full)
    with pytest.raises(OSError, match="disk full"):
        save_plots(made_run(), tmp_path, names=["tip"])
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("tip.png", "old, by nlink")]


def test_a_folder_that_cannot_be_made_is_an_os_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        save_plots(made_run(), tmp_path / "file", names=["tip"])


def test_pictures_need_no_solver_and_no_pyplot():
    heavy = "{'numba', 'scipy', 'sympy', 'tkinter', 'matplotlib.pyplot', 'nlink.simulation.integrate'}"
    code = f"import sys, nlink.view.plot, nlink.view.animate, nlink.view.live; print({heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def colours_of(drawn: Figure) -> list[str]:
    return [to_hex(line.get_color()) for line in drawn.axes[0].lines if len(line.get_xdata()) > 2]


@pytest.mark.parametrize("name", ["angles", "rates", "phase", "positions", "velocities", "paths", "reactions"])
def test_some_links_are_shown_in_the_colours_that_they_have_among_all(name):
    drawn = figure(made_run(50), name, links=[49, 0, 7])
    assert colours_of(drawn) == [to_hex(link_colours(50)[i]) for i in (0, 7, 49)]
    assert len(drawn.legends[0].get_texts()) == 3
    assert not figure(made_run(50), name, links=[7]).legends  # one curve needs no legend


def test_a_phase_portrait_shows_rates_over_wrapped_angles():
    run = made_run(3, times=np.arange(301) / 100, spin=9.0)
    ((angle, rate),) = data(figure(run, "phase"))  # of the last link
    known = np.isfinite(angle)
    assert 0 < np.count_nonzero(~known) < 30
    assert np.abs(angle[known]).max() <= 180
    saved = np.stack([(np.degrees(run.theta[:, 2]) + 180) % 360 - 180, run.omega[:, 2]], 1)
    drawn = np.stack([angle, rate], 1)[known]
    assert max(np.abs(drawn - point).max(1).min() for point in saved) < 1e-6
    assert len(data(figure(run, "phase", links=range(3)))) == 3
    fast = made_run(2, times=np.linspace(0, 30, 1001), spin=20.0)  # 0.6 rad from one saved point to the next
    assert np.abs(np.diff(fast.theta[:, 1])).max() > 0.5
    ((angle, _),) = data(figure(fast, "phase"))
    assert np.nanmax(np.abs(np.diff(angle))) < np.degrees(0.3)


@pytest.mark.parametrize("name", OPEN)
def test_a_part_of_the_time_is_shown(name):
    run = made_run(2, times=np.linspace(0, 2, 401), spin=8.0, work=("drag",))
    drawn = figure(run, name, t=(0.5, 1.25))
    assert rendered(drawn)
    if name in OVER_TIME:
        for x, _ in data(drawn):
            assert (x.min(), x.max()) == (0.5, 1.25)
        for x, y in data(figure(run, name, t=(None, 1.25)))[:1]:
            assert (x.min(), x.max()) == (0.0, 1.25)
            assert np.isfinite(y).any()


def test_a_part_of_a_closed_chain_has_its_forces():
    run = made_loop(4, times=np.linspace(0, 1, 101))
    (x, y), *_ = data(figure(run, "reactions", t=(0.25, 0.75)))
    np.testing.assert_allclose(y, np.linalg.norm(run.reactions()[25:76, 0], axis=-1))
    np.testing.assert_array_equal(x, run.t[25:76])


def test_plots_are_drawn_into_given_axes():
    whole = Figure()
    one, *two = whole.subplots(3)
    run = made_run(2)
    assert figure(run, "rates", ax=one) is whole
    assert figure(run, "positions", ax=two) is whole
    assert len(whole.axes) == 3
    assert [axes.get_ylabel() for axes in whole.axes] == ["angular velocity (rad/s)", "x (m)", "y (m)"]
    assert [len(axes.lines) for axes in whole.axes] == [2, 2, 2]
    assert not whole.legends
    assert whole.get_suptitle() == ""
    for name, ax, message in (
        ("energy", one, "ax must be 2 axes for this plot, got 1"),
        ("rates", "no", "ax must be Matplotlib axes"),
    ):
        with pytest.raises(ModelError, match=message):
            figure(run, name, ax=ax)


def test_energies_and_works_are_told_apart_without_colour():
    run = made_run(2, work=tuple(LOADS))
    lines = [line for line in figure(run, "energy").axes[0].lines if len(line.get_xdata()) > 2]
    assert len(lines) == 3 + len(LOADS)
    assert len({str(line._dash_pattern) for line in lines}) == len(lines)  # pyright: ignore[reportAttributeAccessIssue]


def test_colours_are_those_of_the_pages():
    css, links = (files("nlink.view").joinpath("web", name).read_text() for name in ("theme.css", "colours.js"))
    for name in ("ink", "muted", "accent", "second", "third", "fourth", "fifth"):
        light, dark = to_hex(getattr(LIGHT, name)), to_hex(getattr(DARK, name))
        assert re.findall(rf"--{name}: (#\w+);", css) == [light, dark, dark]
    run = made_run(2, work=("drag", "joint_torque"))
    assert len(set(map(str, DASHES))) == len(DASHES) == len(CURVES) >= 3 + len(ledger())
    assert colours_of(figure(run, "energy")) == [to_hex(getattr(LIGHT, name)) for name in CURVES[:5]]
    dark, light = eval(re.search(r"dark \? (\[.*?\]) : (\[.*?\]);", links).expand(r"\1, \2"))
    for theme_, (low, high) in ((LIGHT, light), (DARK, dark)):
        np.testing.assert_allclose(theme_.viridis(0.0), mpl.colormaps["viridis"](low))
        np.testing.assert_allclose(theme_.viridis(1.0), mpl.colormaps["viridis"](high))


def test_themes():
    dark = figure(made_run(2), "rates", theme="dark")
    assert dark.get_facecolor()[:3] == DARK.ground
    assert colours_of(dark) == [to_hex(colour) for colour in link_colours(2, DARK)]
    assert figure(made_run(2), "rates").get_facecolor()[:3] == LIGHT.ground  # nothing is left of it
    with mpl.rc_context({"axes.facecolor": "black", "figure.facecolor": "black"}):
        assert palette() is DARK
    with mpl.rc_context({"axes.facecolor": "none", "figure.facecolor": "0.1"}):
        assert palette() is DARK
    with pytest.raises(ModelError, match="theme must be one of light, dark; got 'drak'"):
        figure(made_run(2), "rates", theme="drak")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("n", [2, 15, 50])
@pytest.mark.parametrize("name", OPEN)
def test_texts_stay_within_the_column_of_a_journal(name, n, theme):
    drawn = figure(made_run(n, spin=8.0, trusted=0.5, title="long " * 30, work=("drag",)), name, size=COLUMN, theme=theme)
    drawn.draw_without_rendering()
    box, (width, height) = drawn.get_tightbbox(), COLUMN
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.01


def test_a_figure_shows_itself_in_a_notebook():
    assert figure(made_run(2), "rates")._repr_png_().startswith(MAGIC["png"])  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"links": [2]}, "links must be at most 1, got 2"),
        ({"links": [-1]}, "links must be a whole number, at least 0, got -1"),
        ({"links": []}, "links must name at least one link, got none"),
        ({"t": 3.0}, r"t must be the first and the last time \(a, b\) in s, got 3.0"),
        ({"t": (2.0, 3.0)}, "the run has no saved point from 2 to 3 s: it goes from 0 to 1 s"),
    ],
)
def test_links_and_times_the_run_has_not_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        figure(made_run(2), "rates", **options)


def test_a_run_plots_and_animates_itself(tmp_path):
    run = made_run(3)
    assert data(run.plot("phase", links=[0], t=(0.2, 0.8)))
    assert run.animate(tmp_path / "run.gif", fps=5, size=(80, 80)).read_bytes().startswith(b"GIF")


def test_sliders_have_axes_of_their_own():
    run = moved("cart")
    for kind, labels, values in (
        ("angles", ["angle (degrees)", "displacement (m)"], run.theta[:, 0]),
        ("rates", ["angular velocity (rad/s)", "velocity (m/s)"], run.omega[:, 0]),
    ):
        drawn = figure(run, kind)
        assert [axes.get_ylabel() for axes in drawn.axes] == labels
        np.testing.assert_allclose(at_saved(run, data(drawn, 1)[0]), values, atol=1e-12)
        assert len(data(drawn)) == 2
        assert [axes.get_ylabel() for axes in figure(run, kind, links=[0]).axes] == labels[1:]
    drawn = figure(run, "phase", links=[0])
    assert data(drawn)[0][0].min() == pytest.approx(run.theta[:, 0].min())  # in m
    assert drawn.axes[0].get_xlabel() == "displacement of slider 1 (m), dot: start"
    run.theta[:, 0] += 100.0
    assert not plot.turned_over(run)
    assert {text.get_text() for text in figure(run, "angles").legends[0].get_texts()} == {
        "$s_{1}$",
        r"$\theta_{2}$",
        r"$\theta_{3}$",
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_plot_of_a_mechanism_is_drawn_and_fits_a_column(name, theme):
    run = moved(name)
    for kind in suiting(run):
        drawn = figure(run, kind, size=COLUMN, theme=theme)
        drawn.draw_without_rendering()
        box, (width, height) = drawn.get_tightbbox(), COLUMN
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.01, kind


def test_paths_show_the_whole_mechanism_behind_them():
    run = moved("cart", far=3.0)
    axes = figure(run, "paths").axes[0]
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert left < run.theta[:, 0].min() - 0.34
    assert right > run.theta[:, 0].max() + 0.34
    ends = kinematics.hinges(run.chain, run.theta)
    assert low < ends[..., 1].min() < ends[..., 1].max() < high
    assert len(figure(moved("floating"), "paths").axes[0].get_legend_handles_labels()[1]) == 0
    assert [text.get_text() for text in figure(moved("floating"), "paths").legends[0].get_texts()] == ["end 3", "end 4", "end 5"]


@pytest.mark.parametrize("run", [made_run(2), made_loop(3), moved("tree")], ids=["open", "closed", "mechanism"])
def test_any_points_can_be_traced(run):
    points = [At(1, 0.3, 0.1), At(0), (1.0, 2.0)]
    spots = kinematics.points(run.chain, run.theta, points)
    drawn = figure(run, "positions", trace=points)
    for row in range(2):
        for k, line in enumerate(data(drawn, row)):
            np.testing.assert_allclose(at_saved(run, line), spots[:, k, row], atol=1e-12)
    assert drawn.axes[0].get_title("left") == "Positions of points"
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == [
        "body 2 at 0.3 m, 0.1 m to its left",
        "the tip of body 1",
        "(1, 2) m",
    ]
    np.testing.assert_array_equal(run.points(*points), spots)
    for kind in ("paths", "velocities"):
        assert len(data(figure(run, kind, trace=points[:1]))) >= 1


def test_the_path_of_a_point_is_called_by_its_point():
    assert figure(made_run(2), "tip").axes[0].get_title("left") == "Path of the last end"
    assert figure(moved("closed"), "tip").axes[0].get_title("left") == f"Path of {point_text(traced_point(MECHANISMS['closed']))}"
    assert figure(made_run(2), "tip", trace=[At(0)]).axes[0].get_title("left") == "Path of the tip of body 1"


def test_a_phase_portrait_shows_the_last_body_that_moves():
    run = moved("tree")
    run.theta[:, 2] = 1.0 + 1e-13 * np.arange(len(run.t))
    assert figure(run, "phase").axes[0].get_xlabel() == "angle of link 2 (degrees), dot: start"
    run.theta[:] = 1.0
    assert figure(run, "phase").axes[0].get_xlabel() == "angle of link 3 (degrees), dot: start"


def test_sliders_that_let_links_float_have_no_forces():
    drawn = figure(moved("floating"), "reactions")
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["$|R_{3}|$", "$|R_{4}|$", "$|R_{5}|$"]
    assert drawn.axes[0].get_yscale() == "linear"


def test_loads_without_work_are_left_out():
    run = made_run(2)
    run.work |= {"drag": np.zeros(len(run.t)), "joint_torque": np.sin(run.t)}
    assert [text.get_text() for text in figure(run, "energy").legends[0].get_texts()][3:] == ["work of\njoint torque"]


def test_points_and_kinds_that_do_not_go_together_are_refused(tmp_path):
    with pytest.raises(ModelError, match="a phase portrait shows links or sliders, which differ in units; give links of one kind"):
        figure(moved("cart"), "phase", links=[0, 1])
    with pytest.raises(ModelError, match="the plot 'unwrapped' shows angles of links, and only sliders are chosen; take angles"):
        figure(moved("cart"), "unwrapped", links=[0])
    with pytest.raises(
        ModelError, match="the plot 'angles' shows no points; omit trace, or take positions, velocities, paths, tip"
    ):
        figure(made_run(2), "angles", trace=[At(0)])
    with pytest.raises(ModelError, match=r"trace\[0\].link must be a body of the model, 0 to 1, got 5"):
        figure(made_run(2), "paths", trace=[At(5)])
    with pytest.raises(ModelError, match=r"ax must be 2 axes for this plot, got 1"):
        figure(moved("cart"), "angles", ax=Figure().subplots())
    assert len(save_plots(made_run(2), tmp_path, names=["angles", "paths"], trace=[At(0)], dpi=30)) == 2
