"""The tables of a project: planned, changed, tried."""
