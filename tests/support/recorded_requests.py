"""Request histories with chosen requests, for tests of the control plane."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

from bbops_server.data_plane.live.history import History
from tests.support.control import Tried


def answered(path: str = "/notes", status: int = 200, **change: Any) -> tuple[Any, ...]:
    """Return the line of a request."""
    values = {
        "at": perf_counter(), "method": "GET", "path": path, "route": "/notes", "status": status,
        "milliseconds": 1.25, "user": None, "release": "0123456789ab", "bytes_in": 0,
        "bytes_out": 2, "request": b"abc1", "endpoint": "notes", "failure": "", "step": "",
        "steps": [], "exchange": None,
    }  # fmt: skip
    return tuple((values | change).values())


def ago(minutes: float, **values: Any) -> tuple[Any, ...]:
    """Return the line of a request some minutes ago."""
    return answered(at=perf_counter() - 60 * minutes, **values)


def refused(path: str = "/notes", **change: Any) -> tuple[Any, ...]:
    """Return the line of a request with invalid input; `refusal` adds to its reason."""
    refusal = {
        "code": "invalidInput", "message": "the request has invalid values", "place": "",
        "fields": {"name": ["must be text"]},
    }  # fmt: skip
    refusal |= change.pop("refusal", {})
    return (*answered(path, 400, **change), "", None, refusal)


def remember(path: Path, *rows: tuple[Any, ...]) -> Path:
    """Write requests into a history, and return its path."""
    history = History(path)
    for row in rows:
        history.remember(row)
    history.close()
    return path


def record(tried: Tried, *rows: tuple[Any, ...], draft: str = "") -> None:
    """Write requests into the history of the project, or of a draft."""
    assert tried.source.folder is not None
    folder = tried.source.folder / "drafts" / draft if draft else tried.source.folder
    folder.mkdir(parents=True, exist_ok=True)
    remember(folder / "history.sqlite", *rows)
