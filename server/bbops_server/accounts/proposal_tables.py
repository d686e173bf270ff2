"""The tables of proposals, beside those of accounts."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from bbops_server.accounts.tables import EMAIL_LENGTH, METADATA, TEXT_LENGTH, Moment

TITLE_LENGTH: Final = 200
WORDS_LENGTH: Final = 20_000
REVIEWERS_LENGTH: Final = 6_000
_COMMIT_LENGTH = 64


def _text(name: str, length: int = TEXT_LENGTH, *, is_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), nullable=False, primary_key=is_key)


def _number() -> sa.Column[int]:
    return sa.Column("number", sa.Integer, primary_key=True, autoincrement=False)


def _moment(name: str) -> sa.Column[object]:
    return sa.Column(name, Moment, nullable=False)


proposals = sa.Table(
    "proposals", METADATA, _text("project", is_key=True), _number(),
    _text("title", TITLE_LENGTH), _text("description", WORDS_LENGTH),
    _text("author", EMAIL_LENGTH), _text("target"), _text("topic"), _text("state", 16),
    _text("head", _COMMIT_LENGTH), _text("merged", _COMMIT_LENGTH),
    _moment("created"), _moment("changed"),
    sa.Column("ready", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("reviewers", sa.String(REVIEWERS_LENGTH), nullable=False, server_default=""),
    sa.Column("pushers", sa.String(REVIEWERS_LENGTH), nullable=False, server_default=""),
)  # fmt: skip
"""`reviewers` and `pushers` are e-mail addresses with blanks between them."""

reviews = sa.Table(
    "reviews", METADATA, _text("project", is_key=True), _number(),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    _text("who", EMAIL_LENGTH), _moment("at"), _text("verdict", 16), _text("words", WORDS_LENGTH),
    _text("head", _COMMIT_LENGTH), _text("plan", _COMMIT_LENGTH),
)  # fmt: skip
"""`place` counts what was said of one proposal."""

replays = sa.Table(
    "replays", METADATA, _text("project", is_key=True), _number(),
    _text("head", _COMMIT_LENGTH), sa.Column("found", sa.Text, nullable=False),
)  # fmt: skip
"""What asking a proposal's draft again has found, the last time; as JSON."""

merge_statuses = sa.Table(
    "standings", METADATA, _text("project", is_key=True), _number(),
    sa.Column("found", sa.Text, nullable=False),
)  # fmt: skip
"""How a proposal stood when it was looked at last, before it was merged or closed; as JSON."""

arrivals = sa.Table(
    "arrivals", METADATA, _text("commit_id", _COMMIT_LENGTH, is_key=True),
    _text("who", EMAIL_LENGTH, is_key=True),
    sa.Column("at", Moment, nullable=False, index=True),
)  # fmt: skip
"""Who brought which commit to a repository of this server."""
