"""The approvals and checks of a merged pull request that count."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops_server.forges.values import CheckState, PullRequest, PullReview
from bbops_server.publish.forge_reviews.rules import (
    MAX_VOICES,
    ReviewDemands,
    explain_granters,
    find_excluded,
    find_obstacles,
    granters_of,
    list_voices,
)

pytestmark = pytest.mark.quick

AT = datetime(2026, 1, 1, tzinfo=UTC)
HEAD, OLD = "a" * 40, "b" * 40
PULL = PullRequest(
    7, "A cart", "merged", "ada", HEAD, "cart", "main", "https://forge.example/7", merged="c" * 40
)
WRITERS = ("ada", "bob", "Eve", "robot")
BOTS = frozenset({"robot"})
LOGINS = st.sampled_from(["ada", "bob", "Bob", "eve", "robot", "mallory"])
VERDICTS = st.sampled_from(["approved", "refused", "commented", "dismissed"])


def review(who: str, verdict: str = "approved", head: str = HEAD) -> PullReview:
    return PullReview(who, verdict, head, AT)  # type: ignore[arg-type]


def obstacles(
    *reviews: PullReview, approvals: int = 1, pull: PullRequest = PULL, messages: str = "",
    authors: tuple[str, ...] = (), checks: dict[str, CheckState] | None = None,
    demands: ReviewDemands | None = None,
) -> list[str]:  # fmt: skip
    voices = list_voices(pull, reviews, find_excluded(pull, authors, BOTS, messages))
    required = demands or ReviewDemands(approvals)
    return list(find_obstacles(required, voices.of_writers(WRITERS), checks or {}, {}))


def test_approval_of_the_merged_head_counts() -> None:
    assert obstacles(review("bob")) == []
    assert obstacles(review("bob"), approvals=2) == ["1 more approval needed"]
    assert obstacles() == ["1 more approval needed"]
    assert obstacles(approvals=0) == []


def test_approval_of_another_head_names_both_heads() -> None:
    assert obstacles(review("bob", head=OLD)) == [
        "1 more approval needed",
        "the approval of bob was of bbbbbbb, and aaaaaaa was merged",
    ]


def test_approval_of_an_unknown_commit_names_its_doubt() -> None:
    doubtful = PullReview("bob", "approved", "", AT, doubt="does not count: its time is unknown")
    assert obstacles(doubtful)[1] == "the approval of bob does not count: its time is unknown"


@pytest.mark.parametrize(
    ("who", "why"),
    [
        ("ada", "does not count: the author"),
        ("Ada", "does not count: the author"),
        ("eve", "does not count: an author of some commits"),
        ("robot", "does not count: the server itself"),
        ("mallory", "does not count: no right to write"),
    ],
)
def test_approval_by_an_ineligible_user_does_not_count(who: str, why: str) -> None:
    found = obstacles(review(who), authors=("Eve",))
    assert found == ["1 more approval needed", f"the approval of {who} {why}"]


def test_last_verdict_of_a_reviewer_counts() -> None:
    assert obstacles(review("bob"), review("bob", "commented")) == []
    assert obstacles(review("bob", "refused"), review("bob")) == []
    assert obstacles(review("bob"), review("BOB", "dismissed")) == ["1 more approval needed"]
    assert obstacles(review("bob"), review("bob", head=OLD))[0] == "1 more approval needed"


def test_requested_changes_block_if_their_author_may_write() -> None:
    assert obstacles(review("bob"), review("Eve", "refused", OLD)) == ["Eve requested changes"]
    assert obstacles(review("bob"), review("mallory", "refused")) == []
    assert obstacles(review("bob"), review("Eve", "refused"), review("Eve", "dismissed")) == []


def test_person_that_a_bot_acted_for_is_not_a_reviewer() -> None:
    pull = replace(PULL, author="Robot", body="Add a cart.\n\nOn-behalf-of: @bob\n")
    assert obstacles(review("bob"), pull=pull) == [
        "1 more approval needed",
        "the approval of bob does not count: the bot acted on their behalf",
    ]
    assert obstacles(review("Eve"), pull=pull) == []
    by_message = replace(pull, body="edited by bob")
    assert obstacles(review("bob"), pull=by_message, messages="x\n\nOn-behalf-of: bob")[0] == (
        "1 more approval needed"
    )


def test_trailer_of_a_person_excludes_nobody() -> None:
    assert obstacles(review("bob"), pull=replace(PULL, body="On-behalf-of: bob")) == []


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("", set()),
        ("On-behalf-of: Bob", {"bob"}),
        ("a\n\non-behalf-of:  @bob-1 \nOn-behalf-of: eve", {"bob-1", "eve"}),
        ("On-behalf-of: bob (id 42)", {"bob"}),
        ("On-behalf-of: bob\r\n\r\nA text of a browser.", {"bob"}),
        ("Co-authored-by: Bob <12+Bob@users.noreply.github.com>\r\n", {"bob"}),
        ("Co-authored-by: Bob <bob@example.com>", set()),
        ("> On-behalf-of: bob", set()),
        ("On-behalf-of: bob and eve", set()),
    ],
)
def test_trailers_name_granting_people(text: str, people: set[str]) -> None:
    assert granters_of(text) == people


def test_work_of_a_bot_for_many_people_is_explained() -> None:
    lines = [f"On-behalf-of: user{number} (id {number})" for number in range(21)]
    assert explain_granters("\n".join(lines[:20])) == ""
    assert explain_granters("\n".join(lines)) == "its trailers name more than 20 people"


@pytest.mark.parametrize(
    ("checks", "why"),
    [
        ({}, "has not run"),
        ({"test": "pending"}, "is not complete"),
        ({"test": "failure"}, "has failed"),
    ],
)
def test_required_check_has_to_succeed(checks: dict[str, CheckState], why: str) -> None:
    demands = ReviewDemands(1, checks=frozenset({"test"}))
    assert obstacles(review("bob"), checks=checks, demands=demands) == [f"check 'test' {why}"]
    assert obstacles(review("bob"), checks={"test": "success"}, demands=demands) == []


def test_reasons_for_more_approvals_are_named() -> None:
    demands = ReviewDemands(2, ("values would be lost: 'notes'",))
    assert obstacles(review("bob"), demands=demands) == [
        "1 more approval needed: values would be lost: 'notes'"
    ]


@given(st.lists(st.tuples(LOGINS, VERDICTS, st.sampled_from([OLD, "d" * 40])), max_size=8))
def test_approval_at_another_head_never_counts(reviews: list[tuple[str, str, str]]) -> None:
    voices = list_voices(PULL, [review(*each) for each in reviews], {})
    assert voices.approved == ()


@given(
    st.lists(st.tuples(LOGINS, VERDICTS, st.sampled_from([HEAD, OLD])), max_size=10),
    st.frozensets(LOGINS), st.frozensets(LOGINS),
)  # fmt: skip
def test_counted_approvals_are_eligible_last_verdicts(
    reviews: list[tuple[str, str, str]], authors: frozenset[str], writers: frozenset[str]
) -> None:
    excluded = find_excluded(PULL, authors, BOTS, "")
    voices = list_voices(PULL, [review(*each) for each in reviews], excluded).of_writers(writers)
    last = {
        who.lower(): (verdict, head) for who, verdict, head in reviews if verdict != "commented"
    }
    counted = [who.lower() for who in voices.approved]
    assert len(counted) == len(set(counted))
    for who in voices.approved:
        assert last[who.lower()] == ("approved", HEAD)
        assert who in writers
        assert who.lower() not in {"ada", "robot", *(author.lower() for author in authors)}


def test_strangers_cannot_hide_requested_changes() -> None:
    crowd = [review(f"user{number}", "refused") for number in range(MAX_VOICES)]
    voices = list_voices(PULL, [*crowd, review("bob", "refused")], {})
    assert voices.refused[-1] == "bob"


def test_pattern_requires_a_check_and_all_that_match() -> None:
    demands = ReviewDemands(0, checks=frozenset({"test"}), patterns=frozenset({"ci/*", "te?t"}))
    checks: dict[str, CheckState] = {"test": "success", "ci/a": "success", "ci/b": "failure"}
    assert obstacles(demands=demands) == [
        "check 'ci/*' has not run", "check 'te?t' has not run", "check 'test' has not run",
    ]  # fmt: skip
    assert obstacles(demands=demands, checks=checks) == ["check 'ci/b' has failed"]
    assert obstacles(demands=demands, checks={**checks, "ci/b": "success"}) == []
