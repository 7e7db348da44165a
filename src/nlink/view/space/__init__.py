"""Pictures of chains in space: the orbit camera, painter's order, frames, plots, and the content of pages."""
