"""Say to whoever asks the API why something cannot be done, with the cure."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from litestar.enums import ParamType
from litestar.exceptions import ClientException, HTTPException

from bbops.base.errors import BbopsError

CONFLICT = 409
_WHOLE_BODY: Final = "data"
"""What Litestar calls a body."""

_OURS: Final = {
    HTTPStatus.NOT_FOUND: "page not found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method not allowed",
}


def refuse(error: BbopsError, status: int = CONFLICT) -> ClientException:
    """Return the answer for an error that the user can mend."""
    said = f"{error.message}; {error.hint}" if error.hint else error.message
    return ClientException(said, status_code=status)


def words_of(error: HTTPException) -> str:
    """Return why something was refused, in our words where Litestar is who refuses."""
    if isinstance(error.extra, list) and error.extra:
        return "; ".join(map(_words_of_part, error.extra))
    status = HTTPStatus(error.status_code)
    if error.detail == status.phrase:
        return _OURS.get(status, error.detail.lower())
    return error.detail


def _words_of_part(wrong: Mapping[str, Any]) -> str:
    """Return what is wrong with one part of a request, which says what was expected there."""
    key, source = str(wrong.get("key", "")), wrong.get("source", "body")
    source = source.value if isinstance(source, ParamType) else source
    where = f"the {source}" if key == _WHOLE_BODY else f"'{key}' in the {source}"
    said = str(wrong["message"]).replace("`", "'")
    return f"{where}: {said[:1].lower()}{said[1:]}" if said.strip("'") != key else f"{where} lacks"
