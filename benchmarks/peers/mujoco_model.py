"""MuJoCo: hinges about z, RK4 with a fixed step, everything but the smooth dynamics switched off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from .cases import Case

SETTINGS = (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4, 1e-4)  # the step


def model(n: int, step: float) -> Any:
    link = (
        '<body pos="0 {y} 0"><joint type="hinge" axis="0 0 1"/><inertial pos="0 -0.5 0" mass="1" '
        'diaginertia="0.08333333333333333 0.000001 0.08333333333333333"/>'
    )
    bodies = "".join(link.format(y=-1 if i else 0) for i in range(n)) + "</body>" * n
    flags = '<flag contact="disable" constraint="disable" limit="disable"/>'
    option = f'<option integrator="RK4" timestep="{step!r}" gravity="0 -9.81 0">{flags}</option>'
    text = f'<mujoco><compiler balanceinertia="true"/>{option}<worldbody>{bodies}</worldbody></mujoco>'
    return mujoco.MjModel.from_xml_string(text)


def prepare(case: Case, step: float) -> Callable[[float], np.ndarray]:
    chain = model(case.n, step)
    data, start = mujoco.MjData(chain), np.diff(case.start, prepend=0.0)

    def go(t: float) -> np.ndarray:
        mujoco.mj_resetData(chain, data)
        data.qpos[:] = start
        mujoco.mj_step(chain, data, round(t / step))
        return np.cumsum(data.qpos)

    return go


def evaluation(n: int, theta: np.ndarray, omega: np.ndarray) -> Callable[[], np.ndarray]:
    chain = model(n, 1e-3)
    data = mujoco.MjData(chain)
    data.qpos[:], data.qvel[:] = np.diff(theta, prepend=0.0), np.diff(omega, prepend=0.0)

    def evaluate() -> np.ndarray:
        mujoco.mj_forward(chain, data)
        return data.qacc

    return evaluate
