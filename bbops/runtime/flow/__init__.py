"""One run of a function: its state, its limits, and what it has written."""
