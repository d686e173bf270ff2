"""Suites that others wrote, run against our servers: the protocol, its clients, its inspector."""
