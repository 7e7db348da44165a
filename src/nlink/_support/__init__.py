"""What every part of nlink uses, and that knows no chain: checks, records, files, signals, progress."""
