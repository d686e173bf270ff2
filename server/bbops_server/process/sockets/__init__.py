"""Listening sockets, HTTP and websocket connections, and their writes."""
