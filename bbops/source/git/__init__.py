"""Git behind one door: only `command` runs it."""
