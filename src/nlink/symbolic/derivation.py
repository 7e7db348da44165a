"""Lagrange's equations of a chain, expanded entry by entry.

With the centres x_k(theta), y_k(theta) and their velocities v_k = sum_i d(x_k, y_k)/dtheta_i omega_i:

    T = 1/2 sum m_k |v_k|^2 + 1/2 sum I_k omega_k^2            V = g sum m_k y_k + 1/2 sum k_i stretch_i^2
    R = 1/2 sum c_i (omega_i - omega_{i-1})^2 + 1/2 sum kappa_i omega_i^2 + 1/2 sum c1_k |v_k|^2

Every energy is a sum of squares, T that of v_k, so that d/dt dT/domega_i - dT/dtheta_i is M theta'' plus products of rates:

    M_ij = d^2 T/domega_i domega_j = sum_k m_k dv_k/domega_i . dv_k/domega_j + I_i delta_ij
    sum_jk (dM_ij/dtheta_k - 1/2 dM_jk/dtheta_i) omega_j omega_k

    M theta'' = f = -(those products) - dV/dtheta - dR/domega + Q

Q holds what has neither potential nor Rayleigh's function: torques, quadratic drag, the forces at the tip. Nothing is
multiplied out as a whole: M_ij knows two angles only, which is why 15 links take seconds. Relative angles phi are
theta = A phi with a constant A (a triangle of ones), so M and f become A^T M A and A^T f.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from sympy import Add, Mul, cos, factor_terms, sin, sqrt

from nlink.mechanics.loads import LOADS, Law
from nlink.symbolic.letters import COORDINATES, ZERO, Expression, Letters, Row, row
from nlink.symbolic.trigonometry import collected

Entries = dict[tuple[int, int], Expression]
Terms = list[tuple[Expression, Expression]]
Jacobian = list[list[Expression]]


@dataclass(frozen=True)
class Derivation:
    """What follows from the energies, the velocities vx_k, vy_k of the centres standing as symbols in `forces` and `rayleigh`."""

    letters: Letters
    velocities: dict[Expression, Expression]
    """vx_k, vy_k in angles and rates"""
    kinetic: Expression
    potential: Expression
    rayleigh: Expression
    mass: Entries
    """M_ij for i <= j, counted from 0"""
    forces: dict[str, list[Expression]]
    """f by origin: "inertia" (the products of rates) and the name of each load"""
    powers: dict[str, Expression]
    """power of each load whose work is in the ledger"""


def derivation(n: int, shape: str, loads: tuple[str, ...], offset: bool, simplify: bool) -> Derivation:
    """Derive M and f of n links in absolute angles; `simplify` collects them in sines and cosines of differences."""
    letters = Letters.of(n, shape, loads, offset)
    x, y, tip_x, tip_y = _positions(letters)
    jx, jy = _jacobian(x, letters), _jacobian(y, letters)

    def tidy(expression: Expression) -> Expression:
        return collected(expression, letters.mass) if simplify else expression

    mass = {at: tidy(entry) for at, entry in _mass_matrix(letters, jx, jy).items()}
    inertia = [Add(*map(factor_terms, Add.make_args(force))) if simplify else force for force in _products_of_rates(letters, mass)]
    velocities = _velocities(letters, jx, jy)
    height = Add(*(m * at for m, at in zip(letters.mass, y, strict=True)))
    weight = [Add(*(m * column[i] for m, column in zip(letters.mass[i:], jy[i:], strict=True))) for i in range(n)]
    gravity = letters.loads["gravity"]["g"]
    forces = {"inertia": inertia, "gravity": [tidy(-gravity * w) for w in weight]}
    laws = [(load, kind.law) for load, kind in LOADS.items() if kind.law]
    working = {load: _working(letters, load, law) for load, law in laws if law.works}
    working |= {"joint_torque": _at_joints(letters.loads["joint_torque"]["constant"]), "drag": _drag(letters, jx, jy)}
    working |= {load: [tidy(force) for force in each] for load, each in _tip(letters, tip_x, tip_y).items()}
    stored = {load: _pull(_springs(letters, load, law), letters.angle) for load, law in laws if law.stiffness}
    forces |= {load: _sums(each[load] for each in (stored, working) if load in each) for load in LOADS if load not in forces}
    kinetic = _kinetic_from(mass, letters.rate) if simplify else _kinetic(letters, velocities)
    potential = tidy(gravity * height) + Add(*(_energy(_springs(letters, *each)) for each in laws))
    rayleigh = Add(*(_energy(_dampers(letters, *each)) for each in laws), _energy(_air(letters)))
    powers = {load: Add(*map(Mul, letters.rate, working[load])) for load in LOADS if load in working}
    return Derivation(letters, velocities, kinetic, potential, rayleigh, mass, forces, powers)


def _positions(p: Letters) -> tuple[Row, Row, Expression, Expression]:
    """Return x and y of the centres, and of the tip."""
    xs, ys, x, y = [], [], ZERO, ZERO
    for i in range(p.n):
        s, c = sin(p.angle[i]), cos(p.angle[i])
        xs.append(x + p.com[i] * s + p.offset[i] * c)
        ys.append(y - p.com[i] * c + p.offset[i] * s)
        x, y = x + p.length[i] * s, y - p.length[i] * c
    return tuple(xs), tuple(ys), x, y


def _jacobian(positions: Row, p: Letters) -> Jacobian:
    """Return d position_k/d theta_i for i <= k; a centre does not feel the angles behind it."""
    return [[_slope(position, p.angle[i]) for i in range(k + 1)] for k, position in enumerate(positions)]


def _slope(position: Expression, angle: Expression) -> Expression:
    return Add(*(term.diff(angle) for term in Add.make_args(position) if term.has(angle)))


def _mass_matrix(p: Letters, jx: Jacobian, jy: Jacobian) -> Entries:
    entries = {}
    for i in range(p.n):
        for j in range(i, p.n):
            shares = [p.mass[k] * (jx[k][i] * jx[k][j] + jy[k][i] * jy[k][j]) for k in range(j, p.n)]
            entries[i, j] = Add(*shares, p.inertia[i] if i == j else ZERO)
    return entries


def _products_of_rates(p: Letters, mass: Entries) -> list[Expression]:
    """Return -sum_jk (dM_ij/dtheta_k - 1/2 dM_jk/dtheta_i) omega_j omega_k, gathered from each entry's two derivatives.

    The diagonal has none: M_ii is constant, for dv_k/domega_i turns with theta_i and keeps its length.
    """
    shares: list[dict[Expression, list[Expression]]] = [defaultdict(list) for _ in range(p.n)]
    for (j, k), entry in mass.items():
        for a in (j, k) if j != k else ():
            slope = entry.diff(p.angle[a])
            shares[j][p.rate[a] * p.rate[k]].append(slope)
            shares[k][p.rate[a] * p.rate[j]].append(slope)
            shares[a][p.rate[j] * p.rate[k]].append(-slope)
    return [Add(*(-product * Add(*slopes) for product, slopes in share.items())) for share in shares]


def _velocities(p: Letters, jx: Jacobian, jy: Jacobian) -> dict[Expression, Expression]:
    slopes = dict(zip((*p.velocity_x, *p.velocity_y), (*jx, *jy), strict=True))
    order = [symbol for pair in zip(p.velocity_x, p.velocity_y, strict=True) for symbol in pair]
    return {symbol: Add(*map(Mul, slopes[symbol], p.rate)) for symbol in order}


def _kinetic(p: Letters, velocities: dict[Expression, Expression]) -> Expression:
    speeds = [velocities[x] ** 2 + velocities[y] ** 2 for x, y in zip(p.velocity_x, p.velocity_y, strict=True)]
    return Add(*(m * v / 2 + i * w**2 / 2 for m, v, i, w in zip(p.mass, speeds, p.inertia, p.rate, strict=True)))


def _kinetic_from(mass: Entries, rate: Row) -> Expression:
    """Return 1/2 omega^T M omega, which is the same."""
    return Add(*(entry * rate[i] * rate[j] / (2 if i == j else 1) for (i, j), entry in mass.items()))


# Squares: an energy or Rayleigh's function is half the sum of coefficient * e^2 over pairs (coefficient, e)


def _energy(squares: Terms) -> Expression:
    return Add(*(coefficient * e**2 for coefficient, e in squares)) / 2


def _pull(squares: Terms, variables: Row) -> list[Expression]:
    """Return minus the derivatives of the energy, linear e only."""
    return [Add(*(-coefficient * e * e.diff(v) for coefficient, e in squares)) for v in variables]


def _springs(p: Letters, load: str, law: Law) -> Terms:
    """Return the squares of what stores energy."""
    stretched = zip(_coordinates(p.angle, law), p.of_load(load, law.origin), strict=True)
    return [(k, angle - r) for k, (angle, r) in zip(p.of_load(load, law.stiffness), stretched, strict=True)]


def _dampers(p: Letters, load: str, law: Law) -> Terms:
    return list(zip(p.of_load(load, law.damping), _coordinates(p.rate, law), strict=True))


def _coordinates(values: Row, law: Law) -> list[Expression]:
    """Return the angles or rates that a law is about."""
    return [now - before for before, now in pairwise((ZERO, *values))] if law.on == "joint" else list(values)


def _air(p: Letters) -> Terms:
    linear = p.loads["drag"]["linear"]
    return [(c, v) for c, *pair in zip(linear, p.velocity_x, p.velocity_y, strict=True) for v in pair]


# Forces by load


def _at_joints(moments: Row) -> list[Expression]:
    """Return the generalised forces of moments at the joints, each with its opposite on the link before."""
    return [here - behind for here, behind in pairwise((*moments, ZERO))]


def _working(p: Letters, load: str, law: Law) -> list[Expression]:
    """Return the generalised forces of the damping and the push of a law."""
    pushed = p.of_load(load, law.push)
    return _sums((_pull(_dampers(p, load, law), p.rate), _at_joints(pushed) if law.on == "joint" else list(pushed)))


def _sums(forces: Iterable[list[Expression]]) -> list[Expression]:
    return [Add(*parts) for parts in zip(*forces, strict=True)]


def _drag(p: Letters, jx: Jacobian, jy: Jacobian) -> list[Expression]:
    """Return -(c1 + c2 |v|) v . dv/domega: the linear part from Rayleigh's function, the quadratic part as a force."""
    total: list[list[Expression]] = [[] for _ in range(p.n)]
    linear, quadratic = p.loads["drag"]["linear"], p.loads["drag"]["quadratic"]
    for k in range(p.n):
        vx, vy = p.velocity_x[k], p.velocity_y[k]
        factor = linear[k] + quadratic[k] * sqrt(vx**2 + vy**2)
        for i in range(k + 1):
            total[i].append(-(factor * (vx * jx[k][i] + vy * jy[k][i])))
    return [Add(*shares) for shares in total]


def _tip(p: Letters, x: Expression, y: Expression) -> dict[str, list[Expression]]:
    slopes = [(_slope(x, angle), _slope(y, angle)) for angle in p.angle]
    follower, tip = p.loads["follower_force"]["force"], p.loads["tip_force"]
    fx, fy = -follower * sin(p.angle[-1]), follower * cos(p.angle[-1])
    return {
        "follower_force": [fx * sx + fy * sy for sx, sy in slopes],
        "tip_force": [tip["fx"] * sx + tip["fy"] * sy for sx, sy in slopes],
    }


# Relative angles


def in_relative_angles(d: Derivation) -> Derivation:
    """Return the derivation in phi_i = theta_i - theta_{i-1} and their rates."""
    p, n = d.letters, d.letters.n
    angle, rate = (row(letter, n) for letter in COORDINATES["relative"])
    sums = {old: Add(*new[: i + 1]) for olds, new in ((p.angle, angle), (p.rate, rate)) for i, old in enumerate(olds)}
    full = {(i, j): d.mass[min(i, j), max(i, j)].xreplace(sums) for i in range(n) for j in range(n)}
    mass = {(a, b): Add(*(full[i, j] for i in range(a, n) for j in range(b, n))) for a in range(n) for b in range(a, n)}
    forces = {load: [Add(*(f.xreplace(sums) for f in each[a:])) for a in range(n)] for load, each in d.forces.items()}
    velocities = {v: e.xreplace(sums) for v, e in d.velocities.items()}
    powers = {load: power.xreplace(sums) for load, power in d.powers.items()}
    kinetic, potential, rayleigh = (energy.xreplace(sums) for energy in (d.kinetic, d.potential, d.rayleigh))
    return Derivation(replace(p, angle=angle, rate=rate), velocities, kinetic, potential, rayleigh, mass, forces, powers)
