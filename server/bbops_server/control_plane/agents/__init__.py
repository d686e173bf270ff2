"""The way in for agents, and the pages on which people let them in."""
