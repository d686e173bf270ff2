"""Listening sockets, connections and what is written to them."""
