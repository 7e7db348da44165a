"""Results in Python and in notebooks: short reprs, small tables, and pictures of their own."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import matplotlib as mpl
import numpy as np
import pytest
from made_mechanism import MECHANISMS
from made_run import made_run
from matplotlib.figure import Figure
from matplotlib.text import Text

import nlink
from nlink import Chain, FollowerForce, JointDamper, JointSpring, Samples, critical_load, linearize, simulate_many
from nlink._support.checks import ModelError
from nlink._support.showing import brief, table
from nlink.analysis import Bifurcation, Lyapunov, Points, Strobe, chaos_map
from nlink.analysis.compare import Comparison, Row
from nlink.analysis.maps import Map
from nlink.analysis.plane import make_plane
from nlink.analysis.stability import Critical
from nlink.run.run import Status
from nlink.view.chaos import bifurcation_figure
from nlink.view.style import DARK, THEMES

DONE = Status("finished", "reached t = 9 s")
PUSHED = Critical(20.0, "flutter", 5.0, True, lambda load: Chain.uniform(3).with_loads(FollowerForce(load), JointDamper(0.1)))


def made_exponents() -> Lyapunov:
    times, history = np.linspace(1, 9, 300), np.random.default_rng(0).normal(size=(300, 4))
    return Lyapunov(history[-1], history.std(0), times, history, 0.0, 4, 1e-12, np.zeros(2), np.zeros(2), DONE)


def made_points(angles: np.ndarray) -> Points:
    """Return points of one link at these angles."""
    theta, count = np.asarray(angles)[:, None], len(angles)
    none = np.zeros(count)
    return Points(Strobe(1.0), theta, 0 * theta, 0 * theta, none, none.astype(int), none, (DONE,), np.zeros((1, 2)))


def logistic(r: float, count: int, skip: int = 100) -> np.ndarray:
    x, out = 0.3, []
    for _ in range(skip + count):
        x = r * x * (1 - x)
        out.append(x)
    return np.array(out[skip:])


RESULTS = {
    "chain": Chain.uniform(50),
    "loop": Chain.uniform(4, pin=(2.0, 0.0)),
    "run": made_run(50),
    "trajectory": made_run(50).at(np.linspace(0, 1, 40)),
    "energy": made_run(50).energy(),
    "scenario": nlink.Scenario(Chain.uniform(50), (0.1,) * 50),
    "equilibrium": nlink.equilibrium(Chain.uniform(50)),
    "linearization": linearize(Chain.uniform(50)),
    "mode": linearize(Chain.uniform(50)).table()[0],
    "critical": PUSHED,
    "exponents": made_exponents(),
    "points": made_points(np.linspace(0, 1, 900)),
    "bifurcation": Bifurcation(np.arange(50.0), (made_points(np.linspace(0, 1, 90)),) * 50, DONE),
    "equations": nlink.derive(4),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_a_short_repr_and_a_small_table(name):
    text = repr(RESULTS[name])
    assert text.startswith("<")
    assert text.endswith(">")
    assert len(text) < 700
    assert "\n" not in text
    if name not in ("run", "equations"):
        shown = RESULTS[name]._repr_html_()
        assert len(re.findall("<tr>", shown)) > 1
        assert len(re.sub("<svg.*</svg>", "", shown)) < 2500


def test_a_chain_says_what_it_is():
    assert repr(Chain.uniform(1)) == "<Chain of 1 link, 1 m, 1 kg, gravity>"
    assert repr(Chain.uniform(3, loads=nlink.Gravity(0))) == "<Chain of 3 equal links, 3 m, 3 kg, no loads>"
    three = [nlink.Link.rod(length, 1.0) for length in (1.0, 2.0, 1.5)]
    varied = Chain(three, [nlink.Gravity(0), JointSpring(1.0)], (2.0, 0.5))
    assert repr(varied) == "<Chain of 3 links, 4.5 m, 3 kg, joint spring, pin at (2, 0.5) m>"


@pytest.mark.parametrize(
    "chain", [Chain.uniform(1), Chain.uniform(5), Chain.uniform(5, pin=(2.0, 0.0))], ids=["one", "open", "closed"]
)
def test_a_sketch_shows_the_links_in_their_lengths(chain):
    shown = chain._repr_html_()
    points = np.array([pair.split(",") for pair in re.search('points="(.*?)"', shown)[1].split()], float)
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    np.testing.assert_allclose(lengths, lengths[0], rtol=0.01)
    wide, high = (float(re.search(f'{side}="(.*?)"', shown)[1]) for side in ("width", "height"))
    assert points.min() >= 3.5
    assert points[:, 0].max() <= wide - 3.5
    assert points[:, 1].max() <= high - 3.5
    assert shown.count("<circle") == chain.n + 1


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_is_sketched(name):
    mechanism = MECHANISMS[name]
    shown = mechanism._repr_html_()
    sliders, plates = (mechanism.slides.sum() if name != "floating" else 0), ("tree" in name) + ("closed" in name)
    assert shown.count("<rect") == sliders + 2 * (name == "closed")
    corners = [len(points.split()) for points in re.findall('points="(.*?)"', shown)]
    assert corners.count(4) == plates
    numbers = [float(x) for points in re.findall('points="(.*?)"', shown) for x in re.split("[ ,]", points)]
    assert min(numbers) >= 0
    assert max(numbers) <= 300
    assert ("moves as" in shown) == (name in ("kapitza", "slot"))


def test_values_in_few_words():
    assert brief(-0.0) == "0"
    assert brief(1 + 2j) == "1+2j"
    assert brief(np.array([np.nan, 1.0] * 4)) == "(8,) from 1 to 1"
    assert brief(["a"] * 9) == "9 of them, first a"
    assert brief({"a": 1, "b": 2}) == "{a, b}"
    assert len(brief("long " * 100)) == 120
    assert table("A<b>", [("<i>", "1")]).count("&lt;") == 2


def test_short_equations_are_typeset_and_long_ones_named():
    shown = nlink.derive(2)._repr_markdown_()
    assert shown.count(r"\begin{align*}") == shown.count(r"\end{align*}") == 3
    assert "allowdisplaybreaks" not in shown
    assert "%" not in shown
    assert nlink.derive(4)._repr_markdown_().endswith("too long to be read here, see `latex`")


def drawn(figure: Figure) -> Figure:
    figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("style", [{}, {"axes.facecolor": "black", "figure.facecolor": "black"}], ids=["light", "dark"])
def test_results_plot_themselves(style):
    with mpl.rc_context(style):
        figures = [
            made_exponents().plot(), made_points(np.linspace(0, 1, 90)).plot(), PUSHED.plot("force (N)"),
            linearize(Chain.uniform(3)).plot("eigenvalues"), RESULTS["bifurcation"].plot("gravity"),
        ]  # fmt: skip
    for figure in figures:
        assert drawn(figure)._repr_png_().startswith(b"\x89PNG")  # pyright: ignore[reportAttributeAccessIssue]
        assert all(axes.get_xlabel() or axes.get_ylabel() or axes.get_label() == "<colorbar>" for axes in figure.axes)
        assert (figure.get_facecolor()[:3] == (0, 0, 0)) == bool(style)
    accents = [line.get_color() for line in figures[2].axes[1].lines]
    assert (DARK.accent in accents) == bool(style)
    assert figures[2].axes[-1].get_xlabel() == "force (N)" or figures[2].axes[2].get_xlabel() == "force (N)"


def made_map() -> Map:
    chain = Chain.uniform(2)
    plane, sides = make_plane(chain, "theta1", None, 0.0, 0.0, 5.0), np.linspace(-3.0, 3.0, 8)
    link, values = np.ones((8, 8), int), np.linspace(0.1, 5.0, 64).reshape(8, 8)
    return Map(sides, sides, values, link, link, sides[:, None] + sides < -4, plane, (-3.4, 3.4, -3.4, 3.4))


def made_comparison() -> Comparison:
    run = replace(made_run(3), meta={"formulation": "recursive", "integrator": "DOP853"})
    rows = [Row(name, "RK4", None, None, run.status, 1e-9 * run.t, run=run) for name in ("recursive", "momentum")]
    return Comparison(run.scenario, 1e-3, run, tuple(rows))


LONG, DRAGGED = linearize(Chain.uniform(50)), made_run(15, work=("drag",))
PLOTS = {
    "exponents": (1, made_exponents().plot),
    "points": (1, made_points(np.linspace(0, 1, 90)).plot),
    "map": (1, made_map().plot),
    "critical": (3, PUSHED.plot),
    "bifurcation": (2, RESULTS["bifurcation"].plot),
    "eigenvalues": (1, partial(LONG.plot, "eigenvalues")),
    "modes": (4, partial(LONG.plot, count=4)),
    "differences": (1, made_comparison().plot),
    "positions": (2, partial(made_comparison().plot, "positions")),
    "run": (2, partial(DRAGGED.plot, "energy")),
}
"""How many axes the plots of results have, and the plots."""


@pytest.mark.parametrize("name", PLOTS)
def test_results_are_drawn_into_given_axes(name):
    count, plot = PLOTS[name]
    figure = Figure(layout="constrained")
    other, *mine = figure.subplots(1, count + 1)
    assert plot(ax=mine[0] if count == 1 else mine) is figure
    assert all(axes.has_data() for axes in mine)
    assert mine[-1].get_xlabel()
    assert not other.has_data()
    assert figure.get_suptitle() == ""
    drawn(figure)
    with pytest.raises(ModelError, match=f"ax must be {count} axes for this plot, got {count + 1}"):
        plot(ax=[other, *mine])
    with pytest.raises(ModelError, match="ax must be"):
        plot(ax="no")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PLOTS)
def test_results_fit_the_column_of_a_journal_in_both_themes(name, theme):
    figure, usual = drawn(PLOTS[name][1](size="column", theme=theme)), PLOTS[name][1]()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert width == 3.4
    assert usual.get_figwidth() > 6
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.01
    assert figure.get_facecolor()[:3] == pytest.approx(THEMES[theme].ground)
    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_text().strip()]
    assert 4.5 < min(sizes) <= max(sizes) < 9  # a mark of a power or an index is smaller than the others
    lines = [line.get_linewidth() for axes in figure.axes for line in axes.lines if len(line.get_xdata()) > 2]
    before = [line.get_linewidth() for axes in usual.axes for line in axes.lines if len(line.get_xdata()) > 2]
    assert len(lines) == len(before)
    assert all(thin < wide for thin, wide in zip(lines, before, strict=True))


@pytest.mark.parametrize(("n", "count", "panels"), [(15, 5, 5), (15, 9, 9), (3, 9, 3), (50, 100, 48)])
def test_as_many_modes_are_drawn_as_asked_for(n, count, panels):
    figure = linearize(Chain.uniform(n)).plot(count=count)
    assert sum(axes.get_visible() for axes in figure.axes) == panels
    assert (f"{panels} of {n} modes" in figure.get_supxlabel()) == (panels < n)


def test_critical_loads_know_their_chains():
    def chain_of(load):
        return Chain.uniform(2, shape="point", loads=[nlink.Gravity(0), JointSpring(1.0), FollowerForce(load)])

    found = critical_load(chain_of, (0.0, 4.0))
    assert isinstance(found, Critical)
    assert found == Critical(found.load, "flutter", found.frequency)
    loads = drawn(found.plot(loads=[2.0, 2.5, 3.0])).axes
    assert loads
    with pytest.raises(ModelError, match="a Critical that critical_load did not return has no chains to plot"):
        Critical(1.0, "flutter", 1.0).plot()


@pytest.mark.parametrize(
    ("angles", "period", "settling"),
    [
        (logistic(2.9, 60), 1, 0),
        (logistic(2.99, 60, 5), 0, 1),  # from both sides in turn
        (logistic(3.449, 200, 0), 0, 2),
        (0.3 * 0.99 ** np.arange(100), 0, 1),
        (0.3 * (-0.98) ** np.arange(100), 0, 1),
        (0.3 * 0.98 ** np.arange(100) * np.cos(np.arange(100) * 0.7), 0, 1),
        (logistic(3.9, 60), 0, 0),
        (logistic(3.7, 400), 0, 0),
        (np.arange(200) * 2.4, 0, 0),  # goes round, never quite the same
    ],
    ids=[
        "period 1",
        "before the doubling",
        "before the second",
        "node",
        "flip",
        "spiral",
        "chaos",
        "more chaos",
        "round",
    ],
)
def test_slow_convergence_is_not_chaos(angles, period, settling):
    found = Bifurcation(np.zeros(1), (made_points(angles),), DONE)
    assert (found.periods.tolist(), found.settling.tolist()) == ([period], [settling])


def test_chaos_is_hardly_ever_taken_for_slow_convergence():
    found = Bifurcation(np.zeros(1), tuple(made_points(logistic(r, 100)) for r in np.linspace(3.9, 4.0, 200)), DONE)
    assert np.count_nonzero(found.settling) <= 2


def test_a_diagram_shows_where_motions_still_settle():
    points = made_points(logistic(2.99, 60, 5)), made_points(logistic(3.9, 60))
    figure = bifurcation_figure(Bifurcation(np.arange(2.0), points, DONE), "r")
    chaos, settling = figure.axes[0].collections
    assert set(np.asarray(settling.get_offsets())[:, 0]) == {0.0}
    assert set(np.asarray(chaos.get_offsets())[:, 0]) == {1.0}
    assert figure.axes[0].get_title(loc="left").endswith("red: still settling")


def test_an_ensemble_plots_itself():
    starts = np.linspace(0.1, 1.0, 8)[:, None] * [1.0, 0.5]
    many = simulate_many(Chain.uniform(2), starts, t_end=1.0, keep=(nlink.Final(), Samples((0.0, 0.5, 1.0))))
    dots = many.nlink.plot("theta", link=0).axes[0]
    np.testing.assert_allclose(np.asarray(dots.collections[0].get_offsets())[:, 1], many["theta"][:, 0])
    assert (dots.get_xlabel(), dots.get_ylabel()) == ("member", "angles at the end, link 1 (rad)")
    over = many.nlink.plot("omega", over="theta").axes[0]
    np.testing.assert_allclose(over.collections[0].get_offsets(), np.stack([many["theta"][:, 1], many["omega"][:, 1]], 1))
    courses = many.nlink.plot("sample_theta").axes[0].lines
    assert len(courses) == 8
    np.testing.assert_allclose(courses[3].get_ydata(), many["sample_theta"][3, :, 1])
    for options, message in (
        ({"name": "thta"}, "did you mean 'theta'"),
        ({"link": 2}, "link must be from 0 to 1, or from -2 to -1"),
    ):
        with pytest.raises(ModelError, match=message):
            many.nlink.plot(**options)


def test_a_map_and_a_comparison_plot_themselves():
    found = chaos_map(Chain.uniform(2), size=(8, 8), t_end=2.0)
    assert drawn(found.plot()).axes[0].get_title(loc="left").startswith("Time of the first flip")
    assert len(repr(found)) < 700
    comparison = nlink.compare(nlink.preset("nice-3"), ["recursive"])
    assert drawn(comparison.plot()).axes[0].get_ylabel() == "largest angle difference (rad)"
    assert drawn(comparison.plot("angles", link=0)).axes[0].get_title(loc="left") == "Angle of link 1"
    assert comparison._repr_html_().count("<tr>") == 3  # the head, the method of a run, and recursive by DOP853
    assert len(repr(comparison)) < 700
