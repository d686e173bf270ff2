"""The base of all rooms: errors, diagnostics, names, and the doors to this machine."""
