"""Formulations of chains in space: sweeps of lines, of bodies on ball joints and on any joint, and natural coordinates."""
