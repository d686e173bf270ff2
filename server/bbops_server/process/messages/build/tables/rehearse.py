"""Plan what happens to the tables, and try a release on empty ones."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Rehearsal(Answer, frozen=True):
    """What happens to the tables.

    Attributes:
        is_done: nothing is left to do.
        is_behind: those of the release before have still to be narrowed.
        switches: names or types change with the swap.
        hidden: columns that stay, unseen.
        listens: it hears of other changes of rows than the release before.
    """

    is_done: bool
    is_behind: bool
    switches: bool
    hidden: list[str]
    listens: bool = False


class Rehearse(Request[Rehearsal], frozen=True):
    """Plan what happens to the tables, and try a release on empty ones."""

    database: str
    """As `write_place` writes it."""

    state: str
    digest: str
    artifact: str
