"""From a Project to a Release: check it, compile it, run its tests."""
