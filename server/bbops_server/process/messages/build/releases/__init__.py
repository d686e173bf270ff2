"""Commits to releases, and what is wrong with them."""
