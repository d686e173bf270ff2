"""Which server is asked what, and how often ours must be faster than the other."""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.shots import ADD, HELLO, ITEM, Shot, signed


@dataclass(frozen=True, slots=True)
class Run:
    """One server asked one kind of request."""

    server: str
    shot: Shot


@dataclass(frozen=True, slots=True)
class Contest:
    """Two runs of the same round; `target` is the least ratio of ours to the other."""

    name: str
    ours: Run
    other: Run
    target: float | None


def contests() -> list[Contest]:
    """Return every contest, those of one scenario side by side."""
    found = [
        *_scenario("static JSON", HELLO, bare=0.85, by_hand=1.9),
        *_scenario("row by id", ITEM, bare=0.85, by_hand=1.5),
        *_scenario("insert, features off", ADD, bare=0.8, by_hand=None),
    ]
    add = signed()
    ours, on = Run("ours", add), "insert, token and checks"
    # by hand without any feature: the harder comparison
    return [
        *found,
        Contest(on, ours, Run("bare", add), None),
        Contest(on, ours, Run("by hand", ADD), 1.4),
        Contest(on, ours, Run("with middleware", add), 6.0),
    ]


def _scenario(name: str, shot: Shot, *, bare: float, by_hand: float | None) -> list[Contest]:
    ours = Run("ours", shot)
    return [
        Contest(name, ours, Run("bare", shot), bare),
        Contest(name, ours, Run("by hand", shot), by_hand),
    ]
