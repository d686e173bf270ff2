"""Say to whoever asks the API why something cannot be done, with the cure."""

from __future__ import annotations

from litestar.exceptions import ClientException

from bbops.errors import BbopsError

CONFLICT = 409


def refuse(error: BbopsError, status: int = CONFLICT) -> ClientException:
    """Return the answer for an error that the user can mend."""
    said = f"{error.message}; {error.hint}" if error.hint else error.message
    return ClientException(said, status_code=status)
