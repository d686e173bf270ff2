"""The state of a project in a process that its releases share, such as limits and tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping

from bbops.base.host import Clock
from bbops.runtime.auth.api_keys import KeyUses
from bbops.runtime.auth.tokens import Tokens
from bbops.runtime.http.in_flight import ActiveRequests
from bbops.runtime.http.rate_limits import (
    MINUTE,
    Limit,
    SharedCounters,
    SharedWindow,
    SlidingWindow,
)
from bbops.runtime.linking.functions import FunctionParts


class Lasting:
    """One per project and process. A changed limit or key starts again; an equal one goes on.

    With `counters`, limits count together with those of other processes that have the same `scope`.
    """

    def __init__(self, counters: SharedCounters | None = None) -> None:
        self.active_requests, self.key_uses = ActiveRequests(), KeyUses()
        self.refused_deliveries = Counter[str]()
        """Received webhooks with a wrong or late signature, by trigger."""
        self.functions: Mapping[bytes, FunctionParts] = {}
        """The parts of the functions of the newest release, by their packed code."""
        self.scope = ""
        self._counters = counters
        self._limits: dict[tuple[str, int, int], Limit] = {}
        self._tokens: dict[Hashable, Tokens] = {}

    @property
    def is_shared(self) -> bool:
        """Whether other processes answer for the same project."""
        return self._counters is not None

    def limit(self, name: str, most: int, clock: Clock, seconds: int = MINUTE) -> Limit:
        """Return the counter of a channel, or of what else has one."""
        key = (name, most, seconds)
        if key not in self._limits:
            self._limits[key] = (
                SlidingWindow(most, clock, seconds)
                if self._counters is None
                else SharedWindow(most, clock, self._counters, f"{self.scope}\0{name}", seconds)
            )
        return self._limits[key]

    def tokens(self, key: Hashable, make: Callable[[], Tokens]) -> Tokens:
        """Return the tokens of a signing key with its settings; only the newest are kept."""
        if key not in self._tokens:
            self._tokens = {key: make()}
        return self._tokens[key]
