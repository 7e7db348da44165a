"""derive(): the equations of motion of a chain in symbols, M(q) q'' = f(q, q', t), and the forms they can be written in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from sympy import Add, ImmutableDenseMatrix

from nlink._support.checks import ModelError, choice, shown, whole
from nlink.mechanics.chain import Chain
from nlink.mechanics.loads import LOADS
from nlink.symbolic import code, typeset
from nlink.symbolic.derivation import derivation, in_relative_angles
from nlink.symbolic.letters import COORDINATES, Expression, Row

LARGEST = {"absolute": 24, "relative": 15}
"""Links that `derive` takes at most, in seconds; beyond, the equations are too long to read, print or compile."""
READABLE = 3
"""Links up to which a notebook shows the equations."""
SHAPES = ("rigid", "point")


@dataclass(frozen=True)
class Equations:
    """The equations of motion M(q) q'' = f(q, q', t) of a chain in symbols; see `derive`.

    kinetic, potential, lagrangian, rayleigh, mass_matrix and forcing (f) are SymPy expressions; `symbols` holds their
    letters by name, one symbol or a tuple with one for each link, the angles and rates first. `powers` holds the power of each
    load whose work the ledger keeps.
    """

    n: int
    shape: str
    loads: tuple[str, ...]
    angles: str
    symbols: dict[str, Row | Expression]
    kinetic: Expression
    potential: Expression
    mass_matrix: Expression
    short_rayleigh: Expression
    """R with the velocities of the centres of mass written as vx_i, vy_i"""
    short_forcing: Expression
    """f with the velocities of the centres of mass written as vx_i, vy_i"""
    short_powers: dict[str, Expression]
    """the powers with the velocities of the centres of mass written as vx_i, vy_i"""
    velocities: dict[Expression, Expression]
    """vx_i, vy_i in angles and rates; empty if nothing needs them"""

    @cached_property
    def rayleigh(self) -> Expression:
        """Rayleigh's function R in angles and rates: half the power lost to linear friction."""
        return self.short_rayleigh.xreplace(self.velocities)

    @cached_property
    def forcing(self) -> Expression:
        """The right-hand side f in angles and rates: a column of N expressions."""
        return self.short_forcing.xreplace(self.velocities)

    @cached_property
    def powers(self) -> dict[str, Expression]:
        """The power of each load that does work, by its name, in angles and rates; gravity and springs store energy instead."""
        return {load: power.xreplace(self.velocities) for load, power in self.short_powers.items()}

    @property
    def lagrangian(self) -> Expression:
        """Kinetic less potential energy."""
        return self.kinetic - self.potential

    @property
    def coordinates(self) -> Row:
        """The angles q."""
        return self.symbols[COORDINATES[self.angles][0]]

    @property
    def rates(self) -> Row:
        """Their rates q'."""
        return self.symbols[COORDINATES[self.angles][1]]

    @property
    def parameters(self) -> dict[str, Row | Expression]:
        """The symbols that are neither coordinates nor rates, by name."""
        return {name: value for name, value in self.symbols.items() if name not in COORDINATES[self.angles]}

    @property
    def title(self) -> str:
        """What these are the equations of, in words."""
        one, many = {"rigid": ("rigid link", "rigid links"), "point": ("point mass", "point masses")}[self.shape]
        loads = ", ".join(load.replace("_", " ") for load in self.loads) or "no loads"
        return f"{self.n} {one if self.n == 1 else many} in {self.angles} angles under {loads}"

    @property
    def heading(self) -> str:
        """The title with who derived it, for texts and code: nlink knows by it which files are its own."""
        return f"{self.title}, derived by nlink"

    def latex(self, document: bool = False) -> str:
        r"""Return the equations as LaTeX: a fragment that needs amsmath, or a whole document.

        >>> print(derive(1, shape="point").latex().splitlines()[-2])
        f_{1} ={}& - g l_{1} m_{1} \sin{\left(\theta_{1} \right)}
        """
        return typeset.latex(self, document)

    def __repr__(self) -> str:
        """Return one line: what these are the equations of."""
        return f"<Equations of {self.title}>"

    def _repr_markdown_(self) -> str:
        """Return the equations for a notebook, typeset if they are short."""
        return typeset.notebook(self) if self.n <= READABLE else f"Equations of {self.title}: too long to be read here, see `latex`"

    def text(self) -> str:
        """Return the equations as plain text, in the syntax of Python and SymPy.

        >>> print(derive(1, shape="point").text().splitlines()[-1])
        f_1 = -g*l_1*m_1*sin(theta_1)
        """
        return typeset.text(self)

    def code(self, language: str, of: str = "rates") -> str:
        """Return a function in "python", "c", "matlab", "julia" or "javascript", complete in itself.

        It gives, `of` the "rates", the rates of the state (t, state, parameters), or, of the "energies", the kinetic and the
        potential energy and the powers of the loads (state, parameters). The state holds the angles and then their rates;
        torques T are those at time t.

        >>> print(derive(1, shape="point").code("julia").splitlines()[-3].strip())
        f[1] = -g * l_1 * m_1 * sin(theta_1)
        >>> print(derive(1, shape="point").code("c", of="energies").splitlines()[-2].strip())
        values[1] = -g*l_1*m_1*cos(theta_1);
        """
        return code.source(self, language, of)


def derive(
    n: int,
    *,
    shape: str = "rigid",
    loads: Iterable[str] | str = ("gravity",),
    angles: str = "absolute",
    offset: bool = False,
    simplify: bool = True,
) -> Equations:
    """Return the equations of motion of a chain of n links in symbols, by Lagrange's method.

    Parameters
    ----------
    n : number of links
    shape : "rigid" (centre of mass at d, inertia I) or "point" (a point mass at the end of a massless link)
    loads : names of the loads that act, any of `nlink.mechanics.loads.LOADS`
    angles : "absolute" (theta from straight down, rates omega) or "relative" (phi_i = theta_i - theta_{i-1})
    offset : whether the centres of mass of rigid links lie off their axes, by b
    simplify : collect sines and cosines of differences; else the products as they come

    >>> derive(2, shape="point").mass_matrix[0, 1]
    l_1*l_2*m_2*cos(theta_1 - theta_2)
    """
    if isinstance(n, Chain):
        raise ModelError("derive takes a number of links: derive(chain.n, loads=...); nlink derive takes models")
    n = whole("derive: n", n)
    choice("derive: shape", shape, SHAPES)
    if n > LARGEST[choice("derive: angles", angles, LARGEST)]:
        limit = f"derive takes up to {LARGEST[angles]} links in {angles} angles"
        raise ModelError(f"{limit}, got {n}; longer chains can be simulated, see formulate")
    names = _loads(loads)
    if offset and shape == "point":
        raise ModelError("derive: offset goes with rigid links; point masses lie at the ends of their links")
    found = derivation(n, shape, names, bool(offset), bool(simplify))
    found = found if angles == "absolute" else in_relative_angles(found)
    return Equations(
        n=n,
        shape=shape,
        loads=names,
        angles=angles,
        symbols=dict(zip(COORDINATES[angles], (found.letters.angle, found.letters.rate), strict=True)) | found.letters.parameters(),
        kinetic=found.kinetic,
        potential=found.potential,
        mass_matrix=ImmutableDenseMatrix(n, n, lambda i, j: found.mass[min(i, j), max(i, j)]),
        short_rayleigh=found.rayleigh,
        short_forcing=ImmutableDenseMatrix([Add(*(each[i] for each in found.forces.values())) for i in range(n)]),
        short_powers={load: power for load, power in found.powers.items() if load in names},
        velocities=found.velocities if "drag" in names else {},
    )


def _loads(loads: Iterable[str] | str) -> tuple[str, ...]:
    if not isinstance(loads, Iterable):
        raise ModelError(f"derive: loads must be a list of names ({', '.join(LOADS)}), got {shown(loads)}")
    chosen = {choice("derive: loads", load, LOADS) for load in ([loads] if isinstance(loads, str) else loads)}
    return tuple(load for load in LOADS if load in chosen)
