"""Analysis: what runs say about a chain, and how far they can be believed; one file a quantity."""

from nlink._support.lazy import lazy

lazy(__name__)
