"""Exudyn: a kinematic tree in relative angles (no constraints), so that its explicit methods of high order can be used."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

import exudyn as exu
import numpy as np
from exudyn.itemInterface import NodeGenericODE2, ObjectKinematicTree

from .cases import Case

SETTINGS = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2.5e-4)  # the step


def prepare(case: Case, step: float, method: str = "RK67") -> Callable[[float], np.ndarray]:
    n = case.n
    container = exu.SystemContainer()
    system = container.AddSystem()
    start = np.diff(case.start, prepend=0.0).tolist()
    node = system.AddNode(
        NodeGenericODE2(
            numberOfODE2Coordinates=n, referenceCoordinates=[0.0] * n, initialCoordinates=start, initialCoordinates_t=[0.0] * n
        )
    )
    system.AddObject(
        ObjectKinematicTree(
            nodeNumber=node,
            jointTypes=[exu.JointType.RevoluteZ] * n,
            linkParents=list(range(-1, n - 1)),
            jointTransformations=exu.Matrix3DList([np.eye(3)] * n),
            jointOffsets=exu.Vector3DList([[0.0, -1.0 if i else 0.0, 0.0] for i in range(n)]),
            linkInertiasCOM=exu.Matrix3DList([np.diag([1 / 12, 1e-9, 1 / 12])] * n),
            linkCOMs=exu.Vector3DList([[0.0, -0.5, 0.0]] * n),
            linkMasses=[1.0] * n,
            baseOffset=[0.0, 0.0, 0.0],
            gravity=[0.0, -9.81, 0.0],
        )
    )
    system.Assemble()

    def go(t: float) -> np.ndarray:
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = round(t / step), t
        settings.timeIntegration.automaticStepSize = False
        settings.timeIntegration.verboseMode = 0
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = t
        settings.displayStatistics = settings.displayComputationTime = False
        with contextlib.redirect_stdout(io.StringIO()):
            system.SolveDynamic(settings, solverType=getattr(exu.DynamicSolverType, method))
        return np.cumsum(system.GetNodeOutput(node, exu.OutputVariableType.Coordinates))

    return go
