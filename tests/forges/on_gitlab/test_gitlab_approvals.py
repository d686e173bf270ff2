"""Approvals of GitLab at their heads, and texts without commands. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bbops.base.host import HttpResponse
from bbops_server.forges.api import decode
from bbops_server.forges.hosted import ForgeError
from bbops_server.forges.on_gitlab.reports import name_environment
from bbops_server.forges.on_gitlab.rules import find_times, is_push, list_verdicts
from bbops_server.forges.on_gitlab.shapes import (
    GitLabApproval,
    GitLabNote,
    GitLabUser,
    GitLabVersion,
    disarm,
)

VERSIONS = [GitLabVersion("b" * 40, datetime(2026, 1, 1, 12, 0, 2, tzinfo=UTC)),
            GitLabVersion("a" * 40, datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC))]  # fmt: skip
BOB, EVE = GitLabUser("bob", 7), GitLabUser("eve", 8)


def at(second: int) -> datetime:
    return datetime(2026, 1, 1, 12, 0, second, tzinfo=UTC)


@pytest.mark.parametrize(("second", "head"), [(1, "a" * 40), (2, "a" * 40), (3, "b" * 40)])
def test_approval_at_the_time_of_a_push_is_of_the_head_before(second: int, head: str) -> None:
    (review,) = list_verdicts([GitLabApproval(BOB, at(second))], [], VERSIONS, {})
    assert (review.head, review.doubt) == (head, "")


def test_approval_of_the_same_head_with_another_base_does_not_count() -> None:
    versions = [GitLabVersion("a" * 40, at(0), "c" * 40), GitLabVersion("a" * 40, at(2), "d" * 40)]
    old, new = list_verdicts(
        [GitLabApproval(BOB, at(1)), GitLabApproval(EVE, at(3))], [], versions, {}
    )
    assert "since ccccccc, and those since ddddddd were merged" in old.doubt
    assert (new.head, new.doubt) == ("a" * 40, "")


def test_head_that_was_pushed_again_keeps_its_approval() -> None:
    versions = [GitLabVersion(letter * 40, at(at_second), "c" * 40)
                for letter, at_second in (("a", 0), ("b", 2), ("a", 4))]  # fmt: skip
    early, middle = list_verdicts(
        [GitLabApproval(BOB, at(1)), GitLabApproval(EVE, at(3))], [], versions, {}
    )
    assert (early.head, early.doubt) == ("a" * 40, "")
    assert (middle.head, middle.doubt) == ("b" * 40, "")


@pytest.mark.parametrize("time", [None, at(0)])
def test_approval_without_a_known_head_says_what_helps(time: datetime | None) -> None:
    (review,) = list_verdicts([GitLabApproval(BOB, time)], [], VERSIONS, {})
    assert review.head == ""
    assert "revoke it and approve again" in review.doubt


def test_only_events_of_the_forge_tell_the_time_of_an_approval() -> None:
    text = "approved this merge request"
    notes = [
        GitLabNote(4, text, BOB, system=False, created_at=at(9)),
        GitLabNote(3, text, BOB, system=True, created_at=at(3)),
        GitLabNote(2, "un" + text, BOB, system=True, created_at=at(5)),
        GitLabNote(1, text, BOB, system=True, created_at=at(1)),
    ]
    assert find_times(notes) == {"bob": at(3)}


@pytest.mark.parametrize(
    ("text", "is_system", "expected"),
    [("added 1 commit\n\n<ul>", True, True), ("added 12 commits", True, True),
     ("added 1 commit", False, False), ("added bug label", True, False)],
)  # fmt: skip
def test_events_of_the_forge_name_who_pushed(
    text: str, *, is_system: bool, expected: bool
) -> None:  # fmt: skip
    assert is_push(GitLabNote(1, text, BOB, system=is_system)) is expected


def test_time_without_a_zone_is_an_unknown_form() -> None:
    body = b'{"head_commit_sha": "a", "created_at": "2026-01-01T12:00:00"}'
    with pytest.raises(ForgeError, match="unknown form"):
        decode(HttpResponse(200, {}, body), GitLabVersion)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("/merge", "\\/merge"), ("a\r/close\r\n\t/approve", "a\n\\/close\n\t\\/approve"),
     ("a /merge", "a /merge"), ("```\n/x\n```", "```\n\\/x\n```"), ("", "")],
)  # fmt: skip
def test_line_with_a_command_is_shown_only(text: str, expected: str) -> None:
    assert disarm(text) == expected


def test_environment_loses_characters_that_gitlab_refuses() -> None:
    assert name_environment("preview/7 (shop)") == "preview/7 shop"
    assert len(name_environment("x" * 300)) == 255
