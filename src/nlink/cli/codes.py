"""Exit codes of the command other than 0."""

USAGE, BAD_MODEL, FAILED, INPUT_OUTPUT, INTERRUPTED, BROKEN_PIPE = 2, 3, 4, 5, 130, 141
