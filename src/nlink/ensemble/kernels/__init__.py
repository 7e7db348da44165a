"""Compiled code of ensembles: members side by side in lanes of the processor, or one in each thread of a GPU."""
