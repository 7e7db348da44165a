"""Maps: flip times against the reference, exact symmetry, the energetic rule against brute force, slices, files and pictures."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import h5py
import numpy as np
import pytest
import xarray
from helpers import reference

from nlink import (
    Chain,
    Drag,
    Final,
    Flip,
    FlipTime,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    ModelError,
    Sine,
    Threads,
    TipForce,
    chaos_map,
    load_map,
    save_map,
    simulate,
    simulate_many,
)
from nlink.analysis.flip_barrier import energies, margin, ruled
from nlink.analysis.maps import QUANTITIES
from nlink.analysis.plane import centres
from nlink.mechanics.kinematics import potential_energy
from nlink.view.maps import FORBIDDEN, chaos_page, heading, map_figure, plain, save_map_picture, summary

PI = math.pi
RODS = Chain.uniform(2)
TIGHT = {"rtol": 1e-11, "atol": 1e-11}
UNEQUAL = Chain([Link.rod(1.0, 0.3), Link.rod(0.6, 2.0)], [Gravity(9.81)])
BENT = Chain([Link(1.0, 1.0, 0.4, 0.1, 0.2), Link(0.7, 1.5, 0.5, 0.05, -0.1)], [Gravity(9.81)])


@pytest.fixture(scope="module")
def rods():
    return chaos_map(RODS, size=(41, 40))


def cheapest_flip(chain):
    """Return the least energy in J of a flip of a chain that starts within half a turn; None without a rule."""
    return energies(chain, {}, 1)[1].cheapest(np.zeros((1, chain.n))).item() if ruled(chain) else None


def every(found, keep=None):
    """Return what simulate_many gives for every pixel of a map, forbidden and mirrored ones too."""
    x, y = np.meshgrid(found.x, found.y)
    theta, omega, vary = found.plane.starts(x.ravel(), y.ravel())
    return simulate_many(found.chain, theta, omega, vary=vary, t_end=found.plane.t_end, keep=keep or FlipTime(), **TIGHT)


# Times ---------------------------------------------------------------------------------------------------------------


def test_the_reference_flip_times_by_an_ensemble():
    values = reference("flips")["values"]
    many = simulate_many(RODS, np.radians([each["degrees"] for each in values]), t_end=9.0, keep=FlipTime(), **TIGHT)
    assert np.abs(many["flip_time"].values - [each["t"] for each in values]).max() < 1e-8
    assert many["flip_link"].values.tolist() == [each["link"] + 1 for each in values]


@pytest.mark.parametrize("case", reference("flips")["values"], ids=lambda case: str(case["degrees"]))
def test_the_reference_flip_times_as_pixels(case):
    a, b = np.radians(case["degrees"])
    found = chaos_map(RODS, region=(a - 0.01, a + 0.01, b - 0.01, b + 0.01), size=1)
    assert found.values[0, 0] == pytest.approx(case["t"], abs=1e-8)
    assert found.link[0, 0] == case["link"] + 1
    assert not found.forbidden[0, 0]


def test_the_length_of_a_map_is_forty_swings():
    assert chaos_map(RODS, size=2).plane.t_end == pytest.approx(40 / math.sqrt(9.81), rel=1e-15)
    assert chaos_map(UNEQUAL, size=2).plane.t_end == pytest.approx(40 * math.sqrt(0.8 / 9.81), rel=1e-15)
    assert chaos_map(RODS, size=2, t_end=0.5).plane.t_end == 0.5


def test_pixels_agree_with_single_runs(rods):
    for row, column in ((5, 3), (12, 30), (33, 36)):
        theta = rods.x[column], rods.y[row]
        run = simulate(RODS, theta, t_end=rods.plane.t_end, events=[Flip(terminal=True)], rtol=1e-12, atol=1e-12)
        assert run.events[0].t == pytest.approx(rods.values[row, column], abs=1e-8)


# Symmetry ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 7, 200, 1001])
def test_centres_are_exact_negatives(count):
    x = centres(-PI, PI, count)
    assert np.array_equal(x, -x[::-1])
    assert x[0] == pytest.approx(-PI + PI / count)
    assert centres(1.0, 3.0, count).mean() == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("chain", "options"),
    [
        (RODS, {}),
        (Chain.uniform(2, shape="point").with_loads(JointDamper(0.05)), {}),
        (Chain.uniform(3).with_loads(JointSpring(0.5)), {"x": "theta3", "y": "theta1"}),
        (RODS, {"x": "theta2", "y": "omega1", "region": (-PI, PI, -6.0, 6.0)}),
        (RODS, {"x": "theta1", "y": "mass[2]", "region": (-PI, PI, 0.1, 3.0)}),
    ],
    ids=["rods", "damped points", "springs", "rates", "mass"],
)
def test_the_mirrored_half_is_what_would_be_computed(chain, options):
    found = chaos_map(chain, size=(21, 16), t_end=8.0, **options)
    mirror = found.plane.mirrored()
    assert mirror is not None
    values = found.values[:: -1 if mirror[0] else 1, :: -1 if mirror[1] else 1]
    assert np.array_equal(found.values, values, equal_nan=True)
    all_of_it = every(found)
    assert np.array_equal(found.values.ravel(), all_of_it["flip_time"].values, equal_nan=True)
    assert np.array_equal(found.link.ravel(), all_of_it["flip_link"].values)


@pytest.mark.parametrize("quantity", ["ftle", "energy"])
def test_other_quantities_are_symmetric_to_the_last_bit(quantity):
    found = chaos_map(RODS, quantity, size=6, t_end=3.0)
    assert np.array_equal(found.values, found.values[::-1, ::-1])
    kept, name, *_ = QUANTITIES[quantity]
    assert np.array_equal(every(found, kept())[name].values.reshape(6, 6), found.values)


def test_no_mirror_where_there_is_none():
    planes = [
        chaos_map(BENT, size=2, t_end=0.1),
        chaos_map(RODS.with_loads(JointTorque(0.1)), size=2, t_end=0.1),
        chaos_map(RODS.with_loads(TipForce(1.0, 0.0)), size=2, t_end=0.1),
        chaos_map(RODS.with_loads(JointSpring(1.0, 0.2)), size=2, t_end=0.1),
        chaos_map(Chain.uniform(3), size=2, at=0.1, t_end=0.1),
        chaos_map(RODS, size=2, y="offset[2]", region=(-PI, PI, 0.0, 0.1), at=0.0, t_end=0.1),
    ]
    assert [found.plane.mirrored() for found in planes] == [None] * len(planes)
    signed = chaos_map(RODS, "theta[2]", size=3, t_end=1.0)
    assert np.allclose(signed.values, -signed.values[::-1, ::-1])


# The energetic rule --------------------------------------------------------------------------------------------------


def test_the_rule_of_two_links_by_hand():
    for chain, (a, b) in ((RODS, (1.5, 0.5)), (Chain.uniform(2, shape="point"), (2.0, 1.0)), (UNEQUAL, (2.15, 0.6))):
        found = chaos_map(chain, size=60, t_end=1e-3)
        x, y = np.meshgrid(found.x, found.y)
        assert np.array_equal(found.forbidden, a * np.cos(x) + b * np.cos(y) > abs(a - b))
        assert cheapest_flip(chain) == pytest.approx(-9.81 * abs(a - b), rel=1e-14)


def brute(chain, count=73):
    """Return the least potential energy with a link upside down, over a grid of all other angles within half a turn."""
    angles, least = np.linspace(-PI, PI, count), np.inf
    tip, torque = chain.load(TipForce), chain.load(JointTorque)
    for i, side in itertools.product(range(chain.n), (-PI, PI)):
        grids = np.meshgrid(*[np.array([side]) if j == i else angles for j in range(chain.n)], indexing="ij")
        theta = np.stack([grid.ravel() for grid in grids], -1)
        energy = potential_energy(chain, theta)
        if tip:
            energy = energy - (chain.length * (tip.fx * np.sin(theta) - tip.fy * np.cos(theta))).sum(-1)
        if torque:
            energy = energy - (chain.each(JointTorque, "torque") * np.diff(theta, axis=-1, prepend=0.0)).sum(-1)
        least = min(least, float(energy.min()))
    return least


def random_chains():
    rng = np.random.default_rng(5)
    for k in range(24):
        n = 1 + k % 3
        links = [Link(*rng.uniform((0.3, 0.1, -0.2, 0.01, -0.3), (1.5, 3.0, 1.0, 0.3, 0.3))) for _ in range(n)]
        loads = [Gravity(rng.uniform(-3, 12))]
        loads += [JointSpring(tuple(rng.uniform(0, 5, n)), tuple(rng.uniform(-0.5, 0.5, n)))] if k % 4 == 1 else []
        loads += [TipForce(*rng.uniform(-4, 4, 2))] if k % 4 == 2 else []
        loads += [JointTorque(tuple(rng.uniform(-2, 2, n).tolist()))] if k % 8 == 3 else []
        yield pytest.param(Chain(links, loads), id=f"{n} links, {k}")


@pytest.mark.parametrize("chain", list(random_chains()))
def test_the_cheapest_flip_against_brute_force(chain):
    """The grid is never cheaper, and no more dearer than its spacing allows."""
    least, exact = brute(chain), cheapest_flip(chain)
    span = 2 * chain.length.sum() * chain.mass.sum() * 12 + 5.0 * chain.n * 40
    assert exact <= least + 1e-9
    assert least - exact < span * (PI / 72) ** 2


def test_a_spring_leaves_the_grid_far_behind():
    """One link with a spring: the flip is at +-pi, exactly."""
    chain = Chain([Link.point(1.0, 1.0)], [Gravity(9.81), JointSpring(2.0, 0.3)])
    assert cheapest_flip(chain) == pytest.approx(9.81 + (PI - 0.3) ** 2, rel=1e-14)


@pytest.mark.parametrize(
    ("chain", "options"),
    [
        (RODS, {}),
        (Chain.uniform(2, shape="point"), {}),
        (UNEQUAL, {}),
        (BENT, {}),
        (Chain.uniform(3, mass=0.5), {"x": "theta2", "y": "theta3"}),
        (RODS.with_loads(JointSpring((0.5, 1.0), 0.4)), {"region": (-4.0, 4.0, -PI, PI)}),
        (RODS.with_loads(TipForce(2.0, 1.0)), {}),
        (RODS.with_loads(JointTorque((1.0, -0.5))), {}),
        (RODS.with_loads(Drag(linear=0.1)), {}),
        (RODS, {"x": "theta2", "y": "omega1", "region": (-PI, PI, -5.0, 5.0), "at": 0.4}),
        (UNEQUAL, {"x": "gravity", "y": "mass[1]", "region": (0.5, 12.0, 0.1, 3.0), "at": (0.6, 1.0), "omega": (0.0, 6.0)}),
        (UNEQUAL, {"x": "omega2", "y": "length[1]", "region": (-25.0, 25.0, 0.2, 2.0), "at": (0.3, -0.8)}),
    ],
    ids=["rods", "points", "unequal", "offsets", "three", "springs", "tip", "torques", "drag", "rates", "parameters", "both"],
)
def test_no_forbidden_start_flips_and_many_others_do(chain, options):
    found = chaos_map(chain, size=24, t_end=12.0, **options)
    flipped = np.isfinite(every(found)["flip_time"].values.reshape(found.values.shape))
    assert found.forbidden.any()
    assert not flipped[found.forbidden].any()
    assert np.array_equal(np.isfinite(found.values), flipped)
    assert flipped[~found.forbidden].mean() > 0.3
    assert (found.status[found.forbidden] == -1).all()
    assert (found.status[~found.forbidden] >= 0).all()


def test_the_rule_is_sharp():
    """Just above the edge the cheapest flip can be reached: a start on it with a little more energy goes over."""
    theta = np.array([[0.0, PI - 1e-2]])
    over = margin(RODS, theta, np.array([[0.0, 0.0]]))
    kick = math.sqrt(2 * -over[0] / (1 / 3))  # all of it into the second rod
    below, above = (margin(RODS, theta, np.array([[0.0, share * kick]]))[0] for share in (0.999, 1.001))
    assert below < 0 < above


def test_where_there_is_no_rule():
    assert ruled(RODS)
    for load in (FollowerForce(0.1), JointTorque(Sine(0.1, 1.0)), JointTorque(lambda t: 0.0)):
        assert not ruled(RODS.with_loads(load))
        assert cheapest_flip(RODS.with_loads(load)) is None
    assert not ruled(Chain.uniform(3, pin=(1.0, 0.0)))
    assert ruled(RODS.with_loads(JointDamper(0.1)))
    assert not ruled(RODS.with_loads(JointDamper(0.1)), t_end=-1.0)
    assert ruled(RODS, {"joint_damper.damping": 0})
    assert not ruled(RODS, {"joint_spring.stiffness": 0})
    driven = chaos_map(RODS.with_loads(JointTorque(Sine(3.0, 0.5))), size=6, t_end=5.0)
    assert not driven.forbidden.any()
    assert (driven.status >= 0).all()


# Slices, quantities, settings ----------------------------------------------------------------------------------------


def test_slices_of_three_links():
    found = chaos_map(Chain.uniform(3), x="theta1", y="theta3", at=(9.0, 1.2, 9.0), size=(7, 5))
    starts = found.plane.starts(found.x[:1], found.y[:1])[0]
    assert starts.tolist() == [[found.x[0], 1.2, found.y[0]]]
    assert np.array_equal(every(found)["flip_time"].values.reshape(5, 7), found.values, equal_nan=True)
    assert plain(heading(found)) == "Time of the first flip: 3 links, theta2 = 68.75°"


def test_a_zoom_shows_the_same(rods):
    x0, x1, _y0, y1 = rods.region
    zoom = chaos_map(RODS, region=(x0 + 20 * (x1 - x0) / 41, x1, 0.0, y1), size=(21, 20))
    inner = rods.values[20:, 20:]
    both = np.isfinite(zoom.values) & np.isfinite(inner)
    assert both.mean() > 0.5
    assert np.median(np.abs(zoom.values - inner)[both]) < 1e-12


@pytest.mark.parametrize(
    ("quantity", "output", "link"), [("theta[1]", "theta", 0), ("omega", "omega", 1), ("steps", "steps", None)]
)
def test_outputs_by_name(quantity, output, link):
    found = chaos_map(RODS, quantity, size=4, t_end=1.0)
    values = every(found, Final())[output].values
    assert np.array_equal(found.values.ravel(), values if link is None else values[:, link])
    assert found.link is None


def test_largest_and_which_link(rods):
    largest = chaos_map(RODS, "largest_theta[2]", size=5, t_end=1.0)
    assert (largest.values >= largest.y[:, None]).all()
    assert largest.unit == "rad"
    assert largest.meaning == "largest angle of link 2"
    which = chaos_map(RODS, "link", size=(41, 40))
    assert np.array_equal(which.values, rods.link)
    assert set(np.unique(which.values)) == {0.0, 1.0, 2.0}


def test_threads_do_not_matter(rods):
    alone = chaos_map(RODS, size=(41, 40), backend=Threads(1))
    assert np.array_equal(alone.values, rods.values, equal_nan=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantity": "flop"}, r"must be one of flip, link, ftle.*did you mean 'flip'"),
        ({"quantity": "theta[3]"}, r"theta\[3\]: links count from 1 to 2"),
        ({"x": "theta3"}, r"x = theta3: links count from 1 to 2"),
        ({"y": "weight"}, r"y must be theta1 ... theta2, omega1 ... omega2 or a parameter; got 'weight'"),
        ({"y": "mas[1]"}, r"did you mean mass\?"),
        ({"y": "theta1"}, r"x and y must differ, got theta1"),
        ({"y": "mass[1]"}, r"region must be given for y = mass\[1\]"),
        ({"region": (1, 2, 3)}, r"region must be \(x0, x1, y0, y1\), got"),
        ({"region": (2, 1, 0, 1)}, r"x0 < x1 and y0 < y1, got \(2, 1, 0, 1\)"),
        ({"region": (0, 1, 0, math.nan)}, r"region\[3\] must be finite"),
        ({"size": 0}, r"size must be a whole number, at least 1, got 0"),
        ({"at": (0, 0, 0)}, r"at has 3 values for 2 links"),
        ({"chain": Chain.uniform(2, loads=Gravity(0.0))}, r"t_end must be given for a chain without gravity"),
        ({"chain": Chain.uniform(3, pin=(1, 0))}, r"links of a closed chain cannot start one by one"),
        ({"chain": "rods"}, r"chaos_map needs a Chain, got str"),
    ],
)
def test_wrong_input(options, message):
    with pytest.raises(ModelError, match=message):
        chaos_map(**({"chain": RODS, "size": 2} | options))


# Files and pictures --------------------------------------------------------------------------------------------------


def test_data_come_back(tmp_path):
    chain = UNEQUAL.with_loads(JointDamper((0.1, 0.2)))
    for quantity in ("flip", "ftle"):
        found = chaos_map(chain, quantity, x="omega1", region=(-3, 8, -PI, PI), at=0.5, size=(6, 4), t_end=2.0)
        back = load_map(save_map(found, tmp_path / "map.nc"))
        for name in ("x", "y", "values", "status", "forbidden"):
            assert np.array_equal(getattr(back, name), getattr(found, name), equal_nan=name == "values"), name
        assert (back.link is None) == (found.link is None)
        assert (back.chain, back.region, back.quantity, back.settings) == (chain, found.region, quantity, found.settings)
        assert back.plane.x == found.plane.x
        assert back.plane.theta.tolist() == [0.5, 0.5]


def test_the_table(tmp_path, rods):
    rows = np.genfromtxt(save_map(rods, tmp_path / "map.csv"), delimiter=",", names=True)
    assert rows.dtype.names == ("theta1", "theta2", "flip", "link", "status", "forbidden")
    assert np.array_equal(rows["flip"].reshape(40, 41), rods.values, equal_nan=True)
    with pytest.raises(ModelError, match=r"must end in .nc or .csv, got map.xls"):
        save_map(rods, "map.xls")


def test_files_that_are_no_maps(tmp_path):
    with pytest.raises(OSError, match=r"there is no map .*none.nc; make one with: nlink map"):
        load_map(tmp_path / "none.nc")
    (tmp_path / "text.nc").write_text("no", encoding="utf-8")
    with pytest.raises(OSError, match=r"text.nc is not a map"):
        load_map(tmp_path / "text.nc")
    simulate(RODS, 0.1, t_end=0.1).save(tmp_path / "run.nc")
    with pytest.raises(OSError, match=r"run.nc is not a map that this nlink reads"):
        load_map(tmp_path / "run.nc")


def test_map_files_open_in_plain_xarray_and_have_a_checksum(tmp_path, rods):
    path = save_map(rods, tmp_path / "map.nc")
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert data["values"].dims == ("y", "x")
        assert data["forbidden"].dtype == bool
        assert np.array_equal(data["values"], rods.values, equal_nan=True)
        assert (data["x"].attrs["units"], data.attrs["nlink_map"]) == ("rad", 2)
    with h5py.File(path, "r+") as file:
        file["status"][0, 0] = 2
    with pytest.raises(OSError, match=r"map.nc is damaged: its data do not match their checksum; use another copy or make the map"):
        load_map(path)
    with h5py.File(path, "r+") as file:
        del file["values"]
        file["values"] = h5py.ExternalLink(str(tmp_path / "other.nc"), "/values")
    with pytest.raises(OSError, match="is not a map of nlink: 'values' points outside the file"):
        load_map(path)


def test_a_full_disk_leaves_no_half_map(tmp_path, rods, monkeypatch):
    full = lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))  # noqa: E731
    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left on device"):
        save_map(rods, tmp_path / "map.nc")
    assert list(tmp_path.iterdir()) == []


def test_pictures(tmp_path, rods):
    from PIL import Image

    picture = np.asarray(Image.open(save_map_picture(rods, tmp_path / "map.png")).convert("RGB"))
    tone = np.abs(picture - 255 * np.array(FORBIDDEN)).max(-1) < 1.5
    assert 0.7 * rods.forbidden.mean() < tone.sum() / (6.2 * 130) ** 2 < 1.1 * rods.forbidden.mean()
    assert save_map_picture(rods, tmp_path / "map.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert save_map_picture(rods, tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(ModelError, match=r"must end in .png, .svg or .pdf, got map.gif"):
        save_map_picture(rods, "map.gif")


def test_the_edge_is_where_the_energy_is_just_enough(rods):
    (outline,) = map_figure(rods).axes[0].collections
    points = np.concatenate([path.vertices for path in outline.get_paths()])
    a, b = np.radians(points).T
    assert len(points) > 200
    assert np.abs(1.5 * np.cos(a) + 0.5 * np.cos(b) - 1.0).max() < 1e-3


@pytest.mark.parametrize("quantity", ["link", "energy", "steps", "largest_theta"])
def test_pictures_of_other_quantities(tmp_path, quantity):
    found = chaos_map(RODS, quantity, size=8, t_end=2.0)
    assert save_map_picture(found, tmp_path / "map.png").stat().st_size > 5000
    assert "8 \\u00d7 8 starts" in chaos_page(found) or "8 \N{MULTIPLICATION SIGN} 8 starts" in chaos_page(found)
    assert summary(found).startswith("8 × 8 starts to t = 2 s: ")


def test_failed_pixels_are_told(rods):
    status = rods.status.copy()
    status[3, 4] = 3
    assert "starts to t = 12.771 s, 1 of them failed: " in summary(replace(rods, status=status))
    assert "failed" not in summary(rods)


def test_ticks_of_a_deep_zoom():
    at = math.radians(100.0)
    figure = map_figure(chaos_map(RODS, region=(at, at + 1e-6, at, at + 2e-6), size=4))
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert len(set(labels)) == len(labels) > 2
    assert len(figure.axes[1].get_yticks()) > 0


def test_maps_without_a_value_are_drawn(tmp_path):
    still = chaos_map(RODS, region=(-0.1, 0.1, -0.1, 0.1), size=3)
    assert still.forbidden.all()
    assert np.isnan(still.values).all()
    assert still.settings["t_end"] == still.plane.t_end
    assert save_map_picture(still, tmp_path / "still.png").exists()
    assert "100.0 % cannot" in summary(still)
    one = chaos_map(Chain.uniform(1), y="omega1", region=(-PI, PI, -9, 9), size=8, t_end=2.0)
    assert save_map_picture(one, tmp_path / "one.png").exists()
    assert "1 link" in heading(one)
