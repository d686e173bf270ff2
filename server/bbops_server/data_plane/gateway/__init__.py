"""The way in: which project a request is for."""
