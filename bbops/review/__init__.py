"""The effects of a change, and the people and clients that it concerns."""
