"""Errors of the API, with their hints."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from litestar.enums import ParamType
from litestar.exceptions import ClientException, HTTPException

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.tool import ToolError

CONFLICT = 409
_WHOLE_BODY: Final = "data"
"""Litestar's key for the request body."""

_MESSAGES: Final = {
    HTTPStatus.NOT_FOUND: "page not found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method not allowed",
}


def refuse(error: BbopsError | ToolError, status: int = CONFLICT) -> ClientException:
    """Return the HTTP error for an error that the user can fix."""
    text = f"{error.message}; {error.hint}" if error.hint else error.message
    return ClientException(text, status_code=status)


def error_text(error: HTTPException) -> str:
    """Return the message of an error, with our wording for Litestar's own errors."""
    if isinstance(error.extra, list) and error.extra:
        return "; ".join(map(_describe_part, error.extra))
    status = HTTPStatus(error.status_code)
    if error.detail == status.phrase:
        return _MESSAGES.get(status, error.detail.lower())
    return error.detail


def _describe_part(wrong: Mapping[str, Any]) -> str:
    """Return the error in one parameter or field of a request, with the expected value."""
    key, source = str(wrong.get("key", "")), wrong.get("source", "body")
    source = source.value if isinstance(source, ParamType) else source
    where = f"the {source}" if key == _WHOLE_BODY else f"'{key}' in the {source}"
    text = str(wrong["message"]).replace("`", "'")
    return f"{where}: {text[:1].lower()}{text[1:]}" if text.strip("'") != key else f"{where} lacks"
