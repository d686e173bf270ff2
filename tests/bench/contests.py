"""Which server is asked what, and how often ours must be faster than the other."""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.shots import ADD, HELLO, ITEM, NOTES, Shot, signed


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
    add = signed()
    everything, on = "insert, everything on", Run("ours", add)
    return [
        *_scenario("static JSON", HELLO, bare=0.85, by_hand=1.9),
        *_scenario("row by id", ITEM, bare=0.85, by_hand=1.5),
        *_scenario("insert, everything off", ADD, bare=0.8, by_hand=None),
        # by hand without any feature: the harder comparison
        Contest(everything, on, Run("by hand", ADD), 1.4),
        Contest(everything, on, Run("with middleware", add), 6.0),
        Contest("20 rows, author and count", Run("ours off", NOTES), Run("with orm", NOTES), 3.0),
        _on_postgres("row by id, PostgreSQL", ITEM),
        _on_postgres("insert, PostgreSQL", ADD),
        Contest("static JSON, history on", Run("ours", HELLO), Run("ours off", HELLO), 0.9),
    ]


def _on_postgres(name: str, shot: Shot) -> Contest:
    return Contest(name, Run("ours on postgres", shot), Run("with asyncpg", shot), 1.0)


def _scenario(name: str, shot: Shot, *, bare: float, by_hand: float | None) -> list[Contest]:
    ours = Run("ours off", shot)
    return [
        Contest(name, ours, Run("bare", shot), bare),
        Contest(name, ours, Run("by hand", shot), by_hand),
    ]
