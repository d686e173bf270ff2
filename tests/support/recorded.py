"""Requests as they are recorded for replay."""

from __future__ import annotations

from typing import Any


def request(path: str = "/x", method: str = "GET", **change: Any) -> dict[str, Any]:
    exchange = {
        "query": [], "headers": {}, "input": "", "output": "1", "type": "", "digest": "",
    } | change.pop("exchange", {})  # fmt: skip
    return {"method": method, "path": path, "status": 200, "exchange": exchange} | change
