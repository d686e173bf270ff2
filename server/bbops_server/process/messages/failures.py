"""Errors on their way from one process to another."""

from __future__ import annotations

import logging

import bbops.base.errors
from bbops.base.errors import BbopsError
from bbops_server.process.messages.frames import Failed

_log = logging.getLogger(__name__)


def pack_error(number: int, error: Exception) -> Failed:
    """Return what may cross of the error that a request ended with; the log has the rest."""
    if isinstance(error, BbopsError):
        return Failed(number, type(error).__name__, error.message, error.hint)
    _log.error("unexpected %s", type(error).__name__, exc_info=error)
    message = f"unexpected error: {type(error).__name__}"
    hint = "this is a bug in bbops; see the server's log"
    return Failed(number, "ServerError", message, hint)


def unpack_error(failed: Failed) -> BbopsError:
    """Return the error that `pack_error` took apart; kinds it does not know become the base."""
    kind = getattr(bbops.base.errors, failed.kind, BbopsError)
    if not issubclass(kind, BbopsError) or kind is bbops.base.errors.ProjectError:
        kind = BbopsError
    return kind(failed.message, hint=failed.hint)
