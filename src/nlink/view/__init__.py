"""Pictures of a run: plots, animations, a live window. They read a Run and never simulate."""

THEMES = ("light", "dark")
"""Names of the themes."""
