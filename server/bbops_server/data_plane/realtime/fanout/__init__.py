"""How a message gets from where it is published to every process that has subscribers."""
