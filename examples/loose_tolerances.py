"""The same motion at the defaults of MATLAB's ode45 and at a tight tolerance: what looks like physics may be tolerance."""

import numpy as np

import nlink

scenario = nlink.preset("chaotic-3")
theta = np.array(scenario.theta)
loose = nlink.simulate(scenario.chain, theta, t_end=20.0, integrator=nlink.RK45(rtol=1e-3, atol=1e-6))
tight = nlink.simulate(scenario.chain, theta, t_end=20.0, rtol=1e-13, atol=1e-13)
apart = np.abs(loose.theta - tight.theta).max(axis=1) > 0.1
worst = [abs(run.energy().residual).max() for run in (loose, tight)]
print(f"energy residual: {worst[0]:.1e} J at ode45's defaults, {worst[1]:.1e} J at a tight tolerance")
print(f"the angles are more than 0.1 rad apart from t = {loose.t[apart][0]:.2f} s on")
