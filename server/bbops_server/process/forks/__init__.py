"""Processes for code that nobody has reviewed: forked from a warm one, limited, ended by us."""
