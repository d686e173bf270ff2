"""Names of tables and columns in SQL, whoever writes it: the compiler, the drivers, the server."""

from __future__ import annotations


def quote(name: str) -> str:
    """Return an identifier as SQL writes it. Names come from the schema, never from a request."""
    return '"' + name.replace('"', '""') + '"'
