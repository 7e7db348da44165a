"""From a start to a Run: the loop over steps, events, what is recorded, and files that grow."""
