"""What `catch` sees of an error."""

from __future__ import annotations

from asyncio import CancelledError as Cancelled
from typing import Any

from bbops.runtime.flow.run import code_of, message_of
from bbops.runtime.http.responses import blame
from bbops.runtime.values.failures import (
    DatabaseFailure,
    Failure,
    HttpFailure,
    InvalidInput,
    Thrown,
)

__all__ = ["Cancelled", "describe"]


def describe(error: Failure) -> dict[str, Any]:
    """Return `error` as the steps of a `catch` read it; `step` is the file and line that failed."""
    code, message = error.code, error.message
    if isinstance(error, Thrown):
        code, message = code or code_of(error.status), message or message_of(error.status)
    row = error if isinstance(error, DatabaseFailure) else None
    steps, _ = blame(error)
    return {
        "code": code,
        "message": message,
        "status": (error.answered if isinstance(error, HttpFailure) else None) or error.status,
        "step": steps[-1] if steps else "",
        "fields": error.fields if isinstance(error, InvalidInput) else {},
        "table": row.table if row else None,
        "columns": list(row.columns) if row else [],
        "reason": error.reason if isinstance(error, HttpFailure) else None,
        "retryAfter": error.retry_after,
    }
