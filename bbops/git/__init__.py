"""Git behind one door: only `store` runs it."""
