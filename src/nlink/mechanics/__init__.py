"""The mechanics: chains, loads, kinematics, the compiled pieces that formulations share, and the System in which they meet."""
