"""Live data: clients that stay connected, their topics, and the messages they get."""
