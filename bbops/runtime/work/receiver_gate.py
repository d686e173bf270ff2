"""Which receivers are asked now: one that fails or is slow takes no room from the others.

Kept in the memory of the process that sends: a new process asks everybody again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MOST_AT_A_TIME: Final = 5
"""Deliveries to one receiver; to one that fails one."""

FIRST_PAUSE_MS: Final = 5_000
LONGEST_PAUSE_MS: Final = 300_000
SPACING_MS: Final = 200
"""Between two deliveries to one receiver that were put off."""

MOST_KNOWN: Final = 10_000
"""Receivers that are remembered."""


@dataclass(slots=True)
class _State:
    busy: int = 0
    failures: int = 0
    paused_until: int = 0
    next_slot: int = 0


class ReceiverGate:
    """Lets deliveries in by their receiver."""

    def __init__(self) -> None:
        self._known = dict[tuple[str, str], _State]()

    def enter(self, receiver: tuple[str, str], now: int) -> int | None:
        """Let a delivery in, which calls `leave`; or return when it may come back."""
        state = self._known.setdefault(receiver, _State())
        most = 1 if state.failures else MOST_AT_A_TIME
        if now >= state.paused_until and state.busy < most:
            state.busy += 1
            return None
        state.next_slot = max(state.next_slot, state.paused_until, now) + SPACING_MS
        return state.next_slot

    def leave(self, receiver: tuple[str, str], now: int, *, succeeded: bool) -> None:
        """Say how a delivery went."""
        state = self._known.setdefault(receiver, _State(busy=1))
        state.busy -= 1
        if succeeded:
            state.failures = state.paused_until = 0
        else:
            pause = min(FIRST_PAUSE_MS * 2 ** min(state.failures, 16), LONGEST_PAUSE_MS)
            state.failures, state.paused_until = state.failures + 1, now + pause
        if succeeded and not state.busy and state.next_slot <= now:
            del self._known[receiver]
        while len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
