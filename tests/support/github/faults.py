"""Failures of the stand-in for GitHub: statuses, limits, slow and cut responses."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Fault:
    """A failure of the next requests.

    Attributes:
        path: a pattern of the paths below the API's address.
        times: the number of requests left.
        status: of the response; 0 for none, which cuts the connection.
        value: the body of the response.
        is_done: whether the request is carried out before the failure.
        gate: a slow response waits for it; None for a response at once.
    """

    method: str
    path: str
    times: int = 1
    status: int = 0
    value: Any = field(default_factory=lambda: {"message": "Server Error"})
    headers: Mapping[str, str] = field(default_factory=dict)
    is_done: bool = False
    gate: threading.Event | None = None


class Faults:
    """The failures that a test has ordered."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, method: str, path: str, **options: Any) -> Fault:
        """Order a failure; `options` are the fields of Fault."""
        fault = Fault(method, path, **options)
        self._faults.append(fault)
        return fault

    def limit(self, method: str, path: str, *, reset: int, times: int = 1) -> Fault:
        """Order the primary limit, until a time in seconds since 1970."""
        headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset)}
        value = {"message": "API rate limit exceeded for installation ID 77."}
        return self.add(method, path, times=times, status=403, value=value, headers=headers)

    def limit_secondary(self, method: str, path: str, *, after: int = 0) -> Fault:
        """Order a secondary limit, with `Retry-After` if it is not 0."""
        headers = {"retry-after": str(after)} if after else {}
        value = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}
        return self.add(method, path, status=403, value=value, headers=headers)

    def clear(self) -> None:
        """Remove all failures."""
        self._faults.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """Return the failure of a request; None for none."""
        for fault in self._faults:
            if fault.times and fault.method in {method, "*"} and re.search(fault.path, path):
                fault.times -= 1
                return fault
        return None
