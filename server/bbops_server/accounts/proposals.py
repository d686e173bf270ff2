"""Records of proposals: authors, texts, reviews and comments. The code is in git."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from bbops.source.git.proposals import Proposal, Review, State, Verdict, Wish
from bbops_server.accounts.arrivals import Arrivals
from bbops_server.accounts.people import People
from bbops_server.accounts.reviewers import find_reviewers, require_reviewers
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import (
    TITLE_LENGTH,
    WORDS_LENGTH,
    merge_statuses,
    proposals,
    replays,
    reviews,
)
from bbops_server.accounts.text_rules import AccountError

MOST_OPEN: Final = 200
MOST_WORDS: Final = 1_000
"""The reviews and comments of one proposal."""
MOST_ENDED: Final = 1_000
"""The number of ended proposals of a project whose merge status is kept."""

_LENGTHS: Final = {
    "title": TITLE_LENGTH, "description": WORDS_LENGTH, "head": 64, "state": 16, "merged": 64,
}  # fmt: skip


class Proposals:
    """Stores proposals, each of a project."""

    def __init__(self, store: Store) -> None:
        self._store, self.arrivals = store, Arrivals(store)

    def add(
        self, project: str, wish: Wish, *, least: int = 1, pushers: Sequence[str] = ()
    ) -> Proposal:
        """Store a new proposal with the next number, which is at least `least`.

        `pushers` are the users whose commits it has, beside its author.

        Raises:
            AccountError: too many are open, or a reviewer may not review it.
        """
        reviewers = self.check(project, wish.author, wish.reviewers) or ()
        now, mine = self._store.now(), proposals.c.project == project
        with self._store.writing() as connection:
            if _count(connection, proposals, mine, proposals.c.state == "open") >= MOST_OPEN:
                raise AccountError(
                    f"{MOST_OPEN} proposals are open", hint="merge or close some first"
                )
            newest = connection.scalar(sa.select(sa.func.max(proposals.c.number)).where(mine)) or 0
            number = max(newest + 1, least)
            values = {
                "project": project, "number": number, "author": wish.author,
                "title": _tidy(wish.title, TITLE_LENGTH),
                "description": _tidy(wish.description, WORDS_LENGTH),
                "target": wish.target, "topic": wish.topic, "state": "open", "head": wish.head,
                "merged": "", "created": now, "changed": now,
                "ready": wish.ready is not False, "reviewers": " ".join(reviewers),
                "pushers": " ".join(pushers),
            }  # fmt: skip
            connection.execute(proposals.insert().values(**values))
            return _read(connection, project, number)

    def find(self, project: str, wish: Wish) -> Proposal | None:
        """Return the open proposal of the same author, target and topic."""
        wanted = sa.select(proposals.c.number).where(
            proposals.c.project == project, proposals.c.state == "open",
            proposals.c.author == wish.author, proposals.c.target == wish.target,
            proposals.c.topic == wish.topic,
        )  # fmt: skip
        with self._store.reading() as connection:
            number = connection.scalar(wanted.limit(1))
            return None if number is None else _read(connection, project, number)

    def find_others(self, project: str, wish: Wish) -> Sequence[Proposal]:
        """Return the open proposals of the same target and topic by other people."""
        wanted = sa.select(proposals).where(
            proposals.c.project == project, proposals.c.state == "open",
            proposals.c.author != wish.author, proposals.c.target == wish.target,
            proposals.c.topic == wish.topic,
        )  # fmt: skip
        with self._store.reading() as connection:
            return tuple(_proposal(row) for row in connection.execute(wanted))

    def list(self, project: str, state: State | None, limit: int = 200) -> list[Proposal]:
        """Return proposals without their reviews, newest first."""
        wanted = sa.select(proposals).where(proposals.c.project == project)
        if state is not None:
            wanted = wanted.where(proposals.c.state == state)
        newest = wanted.order_by(proposals.c.number.desc()).limit(limit)
        with self._store.reading() as connection:
            return [_proposal(row) for row in connection.execute(newest)]

    def get(self, project: str, number: int) -> Proposal | None:
        """Return a proposal with its reviews and comments."""
        with self._store.reading() as connection:
            found = connection.execute(_one(project, number)).one_or_none()
            return None if found is None else _read(connection, project, number)

    def change(
        self, project: str, number: int, *, ready: bool | None = None,
        reviewers: Sequence[str] | None = None, pushers: Sequence[str] | None = None, **values: str,
    ) -> Proposal:  # fmt: skip
        """Change some of `title`, `description`, `head`, `state` and `merged`.

        Args:
            project: the project.
            number: the number of the proposal.
            ready: whether it is ready; None for no change.
            reviewers: the requested reviewers, as for `check`; None for no change.
            pushers: the users who changed it, beside its author; None for no change.
            values: the texts.

        Raises:
            AccountError: it is not open any more, or a reviewer may not review it.
        """
        known = self.get(project, number) if reviewers else None
        asked = self.check(project, known.author if known else "", reviewers)
        more = {
            "ready": ready, "reviewers": None if asked is None else " ".join(asked),
            "pushers": None if pushers is None else " ".join(pushers),
        }  # fmt: skip
        wanted = proposals.update().where(
            proposals.c.project == project, proposals.c.number == number,
            proposals.c.state == "open",
        )  # fmt: skip
        tidied: dict[str, object] = {
            name: _tidy(text, _LENGTHS[name]) for name, text in values.items()
        }
        tidied |= {name: value for name, value in more.items() if value is not None}
        with self._store.writing() as connection:
            done = connection.execute(wanted.values(**tidied, changed=self._store.now()))
            if not done.rowcount:
                raise AccountError(f"proposal #{number} is not open")
            return _read(connection, project, number)

    def check(
        self, project: str, author: str, reviewers: Sequence[str] | None
    ) -> Sequence[str] | None:
        """Return the checked reviewers, with their own spelling of their addresses.

        Raises:
            AccountError: one of them cannot review it.
        """
        if not reviewers:
            return reviewers
        return require_reviewers(self._store, project, author, reviewers)

    def may_review(self, project: str) -> frozenset[str] | None:
        """Return the e-mail addresses of possible reviewers; None while there are no accounts."""
        found = find_reviewers(self._store, project)
        return frozenset(found) if found or People(self._store).list() else None

    def say(
        self, project: str, number: int, who: str, verdict: Verdict, text: str, plan: str
    ) -> Proposal:
        """Store a review or comment of the current head.

        Raises:
            AccountError: it has too many reviews and comments.
        """
        with self._store.writing() as connection:
            said = reviews.c.project == project, reviews.c.number == number
            place = _count(connection, reviews, *said)
            if place >= MOST_WORDS:
                raise AccountError(f"{MOST_WORDS} reviews and comments already exist")
            head = _read(connection, project, number).head
            connection.execute(reviews.insert().values(
                project=project, number=number, place=place, who=who, at=self._store.now(),
                verdict=verdict, words=_tidy(text, WORDS_LENGTH), head=head, plan=plan,
            ))  # fmt: skip
            return _read(connection, project, number)

    def keep_replay(self, project: str, number: int, head: str, found: str) -> None:
        """Store the result of a replay against `head` in place of the earlier one."""
        with self._store.writing() as connection:
            _replace(connection, replays, project, number, head=head, found=found)

    def replay(self, project: str, number: int, head: str) -> str | None:
        """Return the result of a replay against a head."""
        wanted = sa.select(replays.c.found).where(
            replays.c.project == project, replays.c.number == number, replays.c.head == head
        )
        with self._store.reading() as connection:
            return connection.scalar(wanted)

    def keep_merge_status(self, project: str, number: int, found: str) -> None:
        """Store the merge status of a proposal; an equal one is not written again.

        Statuses of older ended proposals are deleted: see MOST_ENDED.
        """
        if self.merge_status(project, number) == found:
            return
        with self._store.noting() as connection:
            _replace(connection, merge_statuses, project, number, found=found)
            _forget_old(connection, project)

    def merge_status(self, project: str, number: int) -> str | None:
        """Return the last stored merge status of a proposal; None without one."""
        wanted = sa.select(merge_statuses.c.found).where(*_of(merge_statuses, project, number))
        with self._store.reading() as connection:
            return connection.scalar(wanted)


def _replace(
    connection: sa.Connection, table: sa.Table, project: str, number: int, **values: str
) -> None:
    """Replace the row of a proposal in a table."""
    connection.execute(table.delete().where(*_of(table, project, number)))
    connection.execute(table.insert().values(project=project, number=number, **values))


def _forget_old(connection: sa.Connection, project: str) -> None:
    """Delete the merge statuses of ended proposals, except the last MOST_ENDED of a project."""
    known = sa.select(proposals.c.number).where(proposals.c.project == project)
    still_open = known.where(proposals.c.state == "open")
    newest = known.where(proposals.c.state != "open").order_by(proposals.c.changed.desc())
    connection.execute(merge_statuses.delete().where(
        merge_statuses.c.project == project, merge_statuses.c.number.not_in(still_open),
        merge_statuses.c.number.not_in(newest.limit(MOST_ENDED)),
    ))  # fmt: skip


def _of(table: sa.Table, project: str, number: int) -> tuple[sa.ColumnElement[bool], ...]:
    return table.c.project == project, table.c.number == number


def _tidy(text: str, length: int) -> str:
    """Return a text that all databases store: PostgreSQL refuses NUL."""
    return text.replace("\0", "")[:length]


def _one(project: str, number: int) -> sa.Select[Any]:
    return sa.select(proposals).where(
        proposals.c.project == project, proposals.c.number == number
    )  # fmt: skip


def _count(connection: sa.Connection, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(table).where(*where)) or 0


def _read(connection: sa.Connection, project: str, number: int) -> Proposal:
    row = connection.execute(_one(project, number)).one()
    said = sa.select(reviews).where(reviews.c.project == project, reviews.c.number == number)
    found = connection.execute(said.order_by(reviews.c.place))
    return _proposal(row, tuple(_review(review) for review in found))


def _proposal(row: Any, said: tuple[Review, ...] = ()) -> Proposal:
    return Proposal(
        row.number, row.title, row.description, row.author, row.target, row.topic, row.state,
        row.head, row.created, row.changed, row.merged, said, row.ready,
        tuple(row.reviewers.split()), tuple(row.pushers.split()),
    )  # fmt: skip


def _review(row: Any) -> Review:
    return Review(row.who, row.at, row.verdict, row.words, row.head, row.plan)
