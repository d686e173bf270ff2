"""Processes: sockets, messages, forks, the handover to a successor, this machine."""
