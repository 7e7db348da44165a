"""A load that a user adds: a constant moment on each link. Run in a process of its own, for the kernels are compiled with it.

A moment on link i alone is what equal torques at the joints 1 ... i are.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import nlink
from nlink.mechanics.loads import Each, Law, Load, each, register


@register
@dataclass(frozen=True)
class LinkMoment(Load):
    """A constant moment on each link: moment in N m."""

    name: ClassVar[str] = "link_moment"
    label: ClassVar[str] = "link moments"
    law: ClassVar[Law | None] = Law("link", push="moment")
    moment: Each = each("N m", "Moment", "mu", odd=True)


@register
@dataclass(frozen=True)
class Stiffness(Load):
    """Springs without a rest angle: they do no work that the ledger keeps."""

    name: ClassVar[str] = "stiffness"
    label: ClassVar[str] = "springs"
    law: ClassVar[Law | None] = Law("joint", stiffness="k")
    k: Each = each("N m/rad", "Stiffness", "K", least=0)


MOMENTS, TORQUES = [0.4, -0.7, 1.1], [0.8, 0.4, 1.1]
START = ([0.3, 0.5, -0.2], [0.1, 0.0, 0.4])
BASE = nlink.Chain.uniform(3).with_loads(nlink.JointSpring(2.0), nlink.JointDamper(0.1))
ADDED, SAME = BASE.with_loads(LinkMoment(MOMENTS)), BASE.with_loads(nlink.JointTorque(TORQUES))


def runs_agree(**settings):
    """Simulate both chains; the motion and the work are the same, and the balance of energy closes."""
    added, same = (nlink.simulate(chain, *START, t_end=1.0, save=0.25, **settings) for chain in (ADDED, SAME))
    np.testing.assert_allclose(added.theta, same.theta, atol=1e-7, err_msg=str(settings))
    np.testing.assert_allclose(added.work["link_moment"], same.work["joint_torque"], atol=1e-6, err_msg=str(settings))
    assert np.abs(added.energy().residual).max() < 1e-6, settings


def simulated():
    """Every formulation by its accelerations, one with constraints by a run; kinds of integrators; ways to make a series."""
    wanted = nlink.formulate(SAME).accelerations(*START)
    for form in set(nlink.FORMULATIONS) - {"linear"}:
        np.testing.assert_allclose(nlink.formulate(ADDED, form).accelerations(*START), wanted, atol=1e-11, err_msg=form)
    runs_agree(formulation="natural")
    for method in ("Taylor", "DOP853", "Gauss(step=0.005)", "Radau"):
        runs_agree(integrator=method)
    n = 20  # in loops; fewer links are in one vector
    loads = LinkMoment(0.2), nlink.JointTorque([0.2 * (n - i) for i in range(n)])
    added, same = (nlink.simulate(nlink.Chain.uniform(n).with_loads(load), 0.3, t_end=0.5, save=0.1) for load in loads)
    np.testing.assert_allclose(added.theta, same.theta, atol=1e-9)


def stored():
    """A load that stores energy is no row of the ledger."""
    own, same = (
        nlink.simulate(nlink.Chain.uniform(3).with_loads(load, nlink.JointDamper(0.1)), *START, t_end=1.0, save=0.25)
        for load in (Stiffness(2.0), nlink.JointSpring(2.0))
    )
    np.testing.assert_allclose(own.theta, same.theta, atol=1e-11)
    np.testing.assert_allclose(own.potential, same.potential, atol=1e-11)
    assert set(own.work) == {"joint_damper"}
    assert np.abs(own.energy().residual).max() < 1e-9


def linearised():
    """An equilibrium with a moment, and the small motions about it."""
    rest = nlink.equilibrium(ADDED)
    np.testing.assert_allclose(rest.theta, nlink.equilibrium(SAME).theta, atol=1e-9)
    np.testing.assert_allclose(nlink.linearize(ADDED, rest.theta).K, nlink.linearize(SAME, rest.theta).K, atol=1e-9)
    form = nlink.Linear(about=tuple(rest.theta))
    moved = rest.theta + 0.01
    runs = [nlink.simulate(chain, moved, t_end=1.0, save=0.5, formulation=form) for chain in (ADDED, SAME)]
    np.testing.assert_allclose(runs[0].theta, runs[1].theta, atol=1e-9)


def varied():
    """The same numbers in lanes, one by one and by a chain for each."""
    moments = np.array([-0.5, 0.0, 0.9])
    theta, omega = (np.tile(values, (3, 1)) for values in START)
    options = {"t_end": 1.0, "vary": {"link_moment.moment[2]": moments}, "keep": nlink.Final()}
    for method in (None, "DOP853", "RK45"):
        found = nlink.simulate_many(ADDED, theta, omega, integrator=method, rtol=1e-10, atol=1e-10, **options)
        for k, moment in enumerate(moments):
            chain = BASE.with_loads(LinkMoment([MOMENTS[0], moment, MOMENTS[2]]))
            run = nlink.simulate(chain, *START, t_end=1.0, save=(1.0,), rtol=1e-11, atol=1e-11)
            np.testing.assert_allclose(np.asarray(found["theta"])[k], run.theta[-1], atol=1e-7, err_msg=f"{method} {k}")


def told():
    """Equations, words, model files, units and mirror images."""
    from nlink.analysis.plane import axis, symmetric
    from nlink.view.words import load_text

    assert "mu_2" in str(nlink.derive(2, loads=["gravity", "link_moment"]).forcing[1])
    assert load_text(LinkMoment(2.0)) == "link moments 2"
    scenario = nlink.Scenario(ADDED, *START)
    assert nlink.Scenario.from_dict(scenario.to_dict()).chain == ADDED
    assert axis("x", "link_moment.moment", ADDED).unit == "N m"
    assert not symmetric(ADDED)
    assert symmetric(BASE)


if __name__ == "__main__":
    for check in (simulated, stored, linearised, varied, told):
        check()
        print(check.__name__)
