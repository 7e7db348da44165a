"""The shapes of links by name."""

from __future__ import annotations

from dataclasses import replace

from nlink.mechanics.chain import Link


def shape_of(link: Link) -> str:
    """Return the shape of a link, rod or point; empty if it is neither."""
    shapes = {"rod": Link.rod, "point": Link.point}
    bare = replace(link, parent=None, at=None, motion=None)
    return next((name for name, make in shapes.items() if make(link.length, link.mass) == bare), "")
