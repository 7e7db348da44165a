"""What a simulation gives: the Run, and its file."""
