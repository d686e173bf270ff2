"""Read a document from the disk, as far as documents may be large."""

from __future__ import annotations

from pathlib import Path

from bbops.edit.importing.document import MOST_BYTES, Refused


def read_document_file(path: Path) -> bytes:
    """Return the bytes of a file; one byte more than a document may have tells that it is larger.

    Raises:
        Refused: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or "it failed").lower()
        raise Refused(f"cannot read '{path}': {reason}") from None
