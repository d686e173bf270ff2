"""The key that the tokens of all drafts of a server are made with."""

from __future__ import annotations

import secrets
from pathlib import Path

from bbops.errors import ServerError
from bbops_server.host.files import replace_file

_BYTES = 32


def read_server_key(state: Path) -> bytes:
    """Return it; made once, and kept in the state folder for its owner's eyes only.

    Raises:
        ServerError: it cannot be read or made.
    """
    file = state / "drafts.key"
    try:
        if not file.exists():
            replace_file(file, secrets.token_bytes(_BYTES), only_new=True)
        return file.read_bytes()
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot use '{file}': {reason}") from None
