"""Transfer of errors between processes."""

from __future__ import annotations

import logging

import bbops.base.errors
from bbops.base.errors import BbopsError
from bbops_server.process.messages.frames import ErrorFrame

_log = logging.getLogger(__name__)


def pack_error(number: int, error: Exception) -> ErrorFrame:
    """Return the error frame of a request. The log has the details of unexpected errors."""
    if isinstance(error, BbopsError):
        return ErrorFrame(number, type(error).__name__, error.message, error.hint)
    _log.error("unexpected %s", type(error).__name__, exc_info=error)
    message = f"unexpected error: {type(error).__name__}"
    hint = "this is a bug in bbops; see the server's log"
    return ErrorFrame(number, "ServerError", message, hint)


def unpack_error(failed: ErrorFrame) -> BbopsError:
    """Return the error of a frame; an unknown class becomes `BbopsError`."""
    kind = getattr(bbops.base.errors, failed.kind, BbopsError)
    if not issubclass(kind, BbopsError) or kind is bbops.base.errors.ProjectError:
        kind = BbopsError
    return kind(failed.message, hint=failed.hint)
