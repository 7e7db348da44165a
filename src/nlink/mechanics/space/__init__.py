"""Chains in space: links as lines or bodies, joints, poses, read-out, and the numbers of compiled code."""
