"""Outgoing webhooks of the server, about events of projects."""
