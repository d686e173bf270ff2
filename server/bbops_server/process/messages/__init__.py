"""Typed messages between the server's processes, one file per topic."""
