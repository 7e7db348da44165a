"""Run: the result of a simulation, read out in absolute angles whatever the formulation; plain NumPy, no solver needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.lazy import shown_by
from nlink._support.showing import short
from nlink.mechanics import kinematics
from nlink.mechanics.loads import JointTorque
from nlink.mechanics.points import Point, checked_points
from nlink.run.hermite import hermite
from nlink.run.readout import HAND, IN_PLANE, IN_SPACE, Readout, motion_names, settled, trajectory
from nlink.run.readout import EventRecord as EventRecord
from nlink.run.readout import Trajectory as Trajectory
from nlink.scenario import LostFunction, Scenario

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nlink.mechanics.chain import Multibody

COLUMNS = {
    "time": "t",
    **dict(zip(IN_PLANE, IN_SPACE, strict=True)),
    **{name: name for name in (*IN_SPACE, "kinetic", "potential")},
    "violation": "drift",
    "pin_force": "pin_force",
}
"""Names in a file of what a run holds over time, in the plane and in space, and its attributes."""


class Status(NamedTuple):
    """How a run ended: a code, a sentence, and what to try."""

    code: str
    message: str
    remedy: str = ""

    @property
    def ok(self) -> bool:
        """Whether the run did what was asked: reached its end or a terminal event, and its energy balance holds."""
        return self.code in ("finished", "event")

    def __str__(self) -> str:
        """Return the sentence and the remedy."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class Stats(NamedTuple):
    """What a run cost: evaluations of the right-hand side, steps, rejected steps, wall time in s."""

    nfev: int
    steps: int
    rejected: int
    wall: float

    def plus(self, other: Stats) -> Stats:
        """Return the cost of both."""
        steps, rejected = self.steps + other.steps, self.rejected + other.rejected
        return Stats(self.nfev + other.nfev, steps, rejected, self.wall + other.wall)


@short
class Energy(NamedTuple):
    """Energies over time in J: residual = E(t) - E(0) - W(t), zero for exact motion; work by load."""

    kinetic: np.ndarray
    potential: np.ndarray
    residual: np.ndarray
    work: dict[str, np.ndarray]


@dataclass(frozen=True)
class Checkpoint:
    """Where a run goes on: the state with its ledger and its rates, the next step, and the count of a fixed grid from `origin`."""

    t: float
    step: float
    state: np.ndarray
    rates: np.ndarray
    origin: float = 0.0
    count: int = 0
    thinning: tuple[int, int, int] = (1, 0, 0)
    """How the steps in a file were thinned so far: stride, steps to skip, steps kept since (see streaming)"""


@dataclass
class Run(Readout):
    """The motion of a chain or a mechanism at the saved times.

    Attributes: `t` (T,) in s; `theta`, `omega`, `alpha` (T, N) in rad, rad/s, rad/s^2, unwrapped in time (of
    sliders in m, m/s, m/s^2); `events`; `status`; `stats`; `meta` (version, date, command, method); `scenario`;
    `trusted_until` (None until asked for). `position`, `velocity`, `acceleration` (T, K) are the coordinates that
    these are read from: in the plane the same arrays. A chain in space has `direction`, `omega`, `alpha` (T, N, 3) in world
    axes, `inclination`, `azimuth` (T, N) and `rotation` (T, N, 4) instead of angles.
    """

    scenario: Scenario
    t: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    work: dict[str, np.ndarray]
    drift: np.ndarray
    status: Status
    stats: Stats
    meta: dict[str, Any] = field(default_factory=dict)
    events: list[EventRecord] = field(default_factory=list)
    knots: Trajectory | None = None
    checkpoint: Checkpoint | None = None
    trusted_until: float | None = None
    pin_force: np.ndarray | None = None
    """(T, 2): the force of the pin on the last tip, for a closed chain"""

    @property
    def chain(self) -> Multibody:
        """The chain or mechanism that moved."""
        return self.scenario.chain

    def positions(self) -> np.ndarray:
        """Return the pivot and the link ends, (T, N+1, 2) in m; in space (T, N+1, 3), as all points and vectors."""
        return kinematics.hinges(self.chain, self.position)

    def velocities(self) -> np.ndarray:
        """Return the velocities of the pivot and the link ends, (T, N+1, 2) in m/s."""
        return kinematics.hinge_velocities(self.chain, self.position, self.velocity)

    def angles(self) -> np.ndarray:
        """Return the angles of the bodies, (T, N) in rad: those of links, and of sliders those of their parents."""
        return kinematics.angles(self.chain, self.theta)

    def segments(self) -> np.ndarray:
        """Return both ends of each body, its joint first, (T, N, 2, 2) in m."""
        return kinematics.segments(self.chain, self.position)

    def points(self, *places: Point) -> np.ndarray:
        """Return where points are: `At(link, along, left)` of bodies or (x, y) of the ground, (T, K, 2) in m.

        >>> import nlink
        >>> run = nlink.simulate(nlink.Chain.uniform(1), [0.0], t_end=1.0, save=0.5)
        >>> run.points(nlink.At(0, 0.5))[0].tolist()
        [[0.0, -0.5]]
        """
        axes = 3 if self.chain.spatial else 2
        return kinematics.points(self.chain, self.position, checked_points("points", places, self.chain.n, axes))

    def centres(self) -> np.ndarray:
        """Return the centres of mass, (T, N, 2) in m."""
        return kinematics.centres(self.chain, self.position)

    def energy(self) -> Energy:
        """Return kinetic and potential energy, the residual of the balance, and the work of each load."""
        total = self.kinetic + self.potential
        start = total[0] if len(total) else 0.0
        done = sum(self.work.values(), np.zeros_like(total))
        gained = done - done[0] if len(total) else done
        return Energy(self.kinetic, self.potential, total - start - gained, self.work)

    def momentum(self) -> np.ndarray:
        """Return the momentum of all links, (T, 2) in kg m/s."""
        return kinematics.momentum(self.chain, self.position, self.velocity)

    def angular_momentum(self) -> np.ndarray:
        """Return the angular momentum of all links about the origin, (T,) in kg m^2/s; in space (T, 3)."""
        return kinematics.angular_momentum(self.chain, self.position, self.velocity)

    def about_vertical(self) -> np.ndarray:
        """Return the angular momentum about the vertical, (T,) in kg m^2/s, of a chain in space: constant under gravity alone."""
        self._turns(1)
        return self.angular_momentum()[:, 1]

    def tensions(self) -> np.ndarray:
        """Return how hard each upper hinge pulls its link back along it, (T, N) in N, in space; a string would be slack below 0."""
        self._turns(1)
        return -(self.reactions() * self.direction).sum(-1)

    def violation(self) -> np.ndarray:
        """Return how far each saved state is off its constraints, (T,); zero for angle coordinates without a pin."""
        return self.drift

    def reactions(self) -> np.ndarray:
        """Return the force on each link at its upper hinge, (T, N, 2) in N; with a pin (T, N+1, 2), its force on the tip last.

        Of a closed mechanism the forces of its C closures on their first bodies come last, (T, N+C, 2), zero for gears. They are
        not saved but computed anew, by the formulation. If `meta["spare"]` rows depend on others they are not unique: these are
        then the smallest that fit.
        """
        parts, force = [], self.pin_force
        for chain, rows in self._chains():
            if chain.closed and not chain.pin:
                from nlink.simulation.integrate import closed_reactions  # stands behind, as for `resume`

                parts.append(closed_reactions(self, chain, rows))
                continue
            tip = None if force is None else force[rows]
            motion = (values[rows] for values in (self.position, self.velocity, self.acceleration))
            parts.append(kinematics.reactions(chain, *motion, tip))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _chains(self) -> list[tuple[Multibody, slice]]:
        """Return the saved points that each chain has: one chain has all, unless loads were changed on the way."""
        changes = self.meta.get("loads", [])
        first = [0, *(int(np.searchsorted(self.t, t)) for t, _ in changes), len(self.t)]
        table = self.scenario.to_dict() if changes else {}
        chains = [self.chain, *(Scenario.from_dict(table | {"loads": loads}).chain for _, loads in changes)]
        return [(chain, slice(a, b)) for chain, a, b in zip(chains, first[:-1], first[1:], strict=True)]

    def at(self, times: ArrayLike) -> Trajectory:
        """Return the motion at any times within the run, by quintic Hermite interpolation of coordinates, rates, accelerations.

        The nodes are the saved points and, where those are coarser, the integrator's own steps. Between long steps of Taylor this
        loses digits: two links at 1e-11 were off by 1e-4 rad. Save more points for more digits.

        >>> import nlink
        >>> run = nlink.simulate(nlink.Chain.uniform(1), [0.5], t_end=1.0, save=0.5)
        >>> run.at([0.3]).theta.shape
        (1, 1)
        """
        times = np.atleast_1d(np.asarray(times, float))
        nodes = self._nodes()
        low, high = min(nodes.t[0], nodes.t[-1]), max(nodes.t[0], nodes.t[-1])
        if not np.all((times >= low) & (times <= high)):
            raise ValueError(f"times must lie in the run, {low:g} to {high:g} s, got {times.min():g} to {times.max():g}")
        return trajectory(self.chain, times, *settled(self.chain, *hermite(nodes, times)))

    def _nodes(self) -> Trajectory:
        saved = Trajectory(self.t, self.position, self.velocity, self.acceleration)
        if self.knots is None:
            return saved
        joined = [np.concatenate(pair) for pair in zip(saved, self.knots, strict=True)]
        _, order = np.unique(joined[0], return_index=True)
        order = order[::-1] if len(self.t) > 1 and self.t[-1] < self.t[0] else order
        return Trajectory(*(values[order] for values in joined))

    def resume(
        self,
        t_end: float | None = None,
        *,
        file: str | os.PathLike[str] | None = None,
        progress: bool = False,
        strict: bool = True,
        events: Any = (),
    ) -> Run:
        """Go on from where the run stopped, to t_end (its own if not given); return the whole run, or write it to `file`."""
        from nlink.simulation.integrate import resume  # the loop stands behind: see the layers

        return resume(self, t_end, events, file, progress, strict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run as a netCDF4 file (.nc), whole or not at all."""
        from nlink.run.file import save

        save(self, path)

    def to_xarray(self) -> xarray.Dataset:
        """Return the run as an xarray Dataset with named dimensions and units."""
        import xarray

        from nlink.run.file import in_space, variables
        from nlink.run.writer import attributes

        data = variables(self) | in_space(self)
        coords = {name: data.pop(name) for name in ("time", "link", "coordinate", "kind") if name in data}
        return xarray.Dataset(data, coords, attributes(self.scenario, self.meta))

    @shown_by("page.run_page")
    def html(self, path: str | os.PathLike[str] | None = None, *, theme: str | None = None) -> str | Path:
        """Return the run as one self-contained page that plays it, or write it to `path` (.html) and return that.

        `theme`: light or dark; as the reader's system if not given.
        """
        ...

    @shown_by("plot.figure")
    def plot(
        self,
        kind: str | None = None,
        *,
        links: Iterable[int] | None = None,
        trace: Iterable[Point] | None = None,
        t: tuple[float | None, float | None] | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        size: tuple[float, float] | str | None = None,
        theme: str | None = None,
    ) -> Figure:
        """Return a Matplotlib figure of the run, which a notebook shows by itself; `figure.savefig(path)` writes it.

        Parameters
        ----------
        kind : angles (if not given), unwrapped, rates, phase, positions, velocities, paths, tip, coupler, energy or reactions;
            in space inclination (if not given), azimuth, rates, positions, velocities, paths, tip, energy, momentum, reactions
            or tensions
        links : the links that are shown, from 0; all if not given, in a phase portrait the last
        trace : points that positions, velocities, paths and tip show in place of link ends: At(link, along, left), or (x, y)
        t : first and last time that are shown, in s; None for the end of the run
        ax : Matplotlib axes to draw into; energy, positions and velocities take two, as angles and rates if there are sliders
        size : inches, (8, 5) if not given; or "column", for the column of a journal
        theme : light or dark; as Matplotlib's style if not given

        >>> import nlink
        >>> run = nlink.simulate(nlink.Chain.uniform(3), [2.0, 2.0, 2.0], t_end=5.0)
        >>> run.plot("phase", links=[0, 2], t=(1.0, 4.0)).axes[0].get_ylabel()
        'angular velocity (rad/s)'
        """
        ...

    @shown_by("animate.animate")
    def animate(
        self,
        path: str | os.PathLike[str],
        *,
        speed: float | None = None,
        fps: float = 50,
        size: tuple[int, int] = (640, 640),
        trail: float = 1.0,
        hinges: bool = True,
        timer: bool = True,
        centres: bool = False,
        style: str = "bar",
        theme: str | None = None,
        trace: Point | None = None,
        azimuth: float | None = None,
        elevation: float | None = None,
        turn: float = 0.0,
        progress: Callable[[int, int], None] | None = None,
    ) -> Path:
        """Write the run as an animation, by the ending of `path`: .gif, .mp4 or .html, and return the path.

        Parameters
        ----------
        speed : 1 is real time, 2 twice as fast; if not given 1, or slow motion for a run shorter than half a second
        fps : frames a second of a .gif or .mp4
        size : width and height in pixels of a .gif or .mp4
        trail : seconds of the motion that the path of the last end, in a closed chain of its middle, stays visible
        hinges, timer, centres : whether the hinges, the time (always on a page) and the centres of mass are drawn
        style : "bar" or "line"
        theme : light or dark; as Matplotlib's style if not given, and of a page as the reader's system
        trace : the point that draws the trail in place of the last end: At(link, along, left)
        azimuth, elevation : in space, degrees from the front to the right, and upwards, from which the chain is seen
        turn : in space, degrees a second by which the view turns
        progress : called with (done, total) after each frame
        """
        ...

    @shown_by("page.notebook_frame")
    def _repr_html_(self) -> str | None:
        """Return the page in a frame, for a notebook; nothing for a run without a saved point."""
        ...

    @property
    def resumable(self) -> bool:
        """Whether the run can go on: it has a checkpoint, and no lost torques."""
        return self.checkpoint is not None and not self.lost

    @property
    def lost(self) -> bool:
        """Whether its torques are a function that its file does not hold, or a hand has pulled it."""
        torque = self.chain.load(JointTorque)
        return HAND in self.work or (torque is not None and isinstance(torque.torque, LostFunction))

    def __repr__(self) -> str:
        """Return one line: what ran, how far, how it ended."""
        end = f"{self.t[-1]:g} s" if len(self.t) else "no saved point"
        return f"<Run of {self.chain.made_of} to {end}, {len(self.t)} points, {self.status.code}>"


def columns_of(run: Run) -> dict[str, Any]:
    """Return what a run holds over time: name in a file -> values."""
    motion = motion_names(run.chain)
    series = {name: getattr(run, field) for name, field in COLUMNS.items() if field not in IN_SPACE or name in motion}
    work = {f"work_{name}": values for name, values in run.work.items()}
    return {name: values for name, values in (series | work).items() if values is not None}


def fields_of(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a Run that hold these columns."""
    work = {name.removeprefix("work_"): values for name, values in columns.items() if name not in COLUMNS}
    return {COLUMNS[name]: values for name, values in columns.items() if name in COLUMNS} | {"work": work}
