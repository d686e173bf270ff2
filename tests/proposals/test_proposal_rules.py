"""What it takes to merge a proposal, and how its records are kept, on both databases."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces import answers
from bbops.source.git.proposals import VERDICTS, Proposal, Review
from bbops_server.accounts import proposals
from bbops_server.accounts.book import Book
from bbops_server.accounts.text_rules import AccountError
from bbops_server.publish.impact.impact import ProjectImpact
from bbops_server.publish.proposals import merge_status
from bbops_server.publish.proposals.merge_status import MergeStatus
from bbops_server.publish.proposals.rules import (
    EligibleReviewers,
    MergeRequirements,
    ReviewTally,
    explain_approval,
    find_obstacles,
    tally_reviews,
)
from tests.support.proposal_rules import AT, WISH, book

__all__ = ["book"]

pytestmark = pytest.mark.quick


def proposed(*reviews: Review) -> Proposal:
    return Proposal(
        1, "A cart", "", "ada", "main", "cart", "open", "head", AT, AT, "", tuple(reviews)
    )


def said(who: str, verdict: str, head: str = "head", plan: str = "plan") -> Review:
    return Review(who, AT, verdict, "", head, plan)  # type: ignore[arg-type]


TEAM = EligibleReviewers(frozenset({"ada", "bob", "eve"}))


def obstacles(
    proposal: Proposal, approvals: int = 1, eligible: EligibleReviewers = TEAM
) -> list[str]:
    voices = tally_reviews(proposal, "plan", eligible)
    return list(find_obstacles(MergeRequirements("plan", approvals), voices))


def test_an_approval_of_this_plan_and_head_counts() -> None:
    assert obstacles(proposed(said("bob", "approved"))) == []
    assert obstacles(proposed(), 0) == []
    assert obstacles(proposed(), 2) == ["2 more approvals needed"]


def test_who_has_changed_a_proposal_does_not_approve_it() -> None:
    mine = replace(proposed(said("bob", "approved")), pushers=("bob",))
    assert obstacles(mine) == [
        "1 more approval needed",
        "the approval of bob does not count: they are an author of some commits",
    ]
    assert obstacles(replace(proposed(said("eve", "approved")), pushers=("bob",))) == []
    pair = EligibleReviewers(frozenset({"ada", "bob"}))
    assert len(obstacles(mine, eligible=pair)) == 3
    assert obstacles(mine, eligible=EligibleReviewers(frozenset({"bob"}))) == []


@pytest.mark.parametrize(
    ("who", "eligible", "approvals", "expected"),
    [
        ("bob", TEAM, 2, "Your approval counts. Approvals: 2 needed, 1 given."),
        ("bob", TEAM, 0, "Your approval counts. Approvals: none is needed."),
        (
            "ada", TEAM, 1, ("Your approval does not count, because you are an author of this"
            " change. Approvals: 1 needed, 1 given."),
        ),
        ("zoe", TEAM, 1, "does not count, because your role does not cover all of this change."),
        (
            "ada", EligibleReviewers(frozenset({"ada"})), 1,
            "counts, although you are its author: no other user may review it.",
        ),
        ("ada", EligibleReviewers(), 1, "Your approval counts"),
    ],
)  # fmt: skip
def test_the_effect_of_an_approval_is_explained(
    who: str, eligible: EligibleReviewers, approvals: int, expected: str
) -> None:
    proposal = proposed(said("eve", "approved"))
    voices = tally_reviews(proposal, "plan", TEAM)
    demands = MergeRequirements("plan", approvals)
    assert expected in explain_approval(who, proposal, demands, voices, eligible)


@pytest.mark.parametrize(("is_gated", "count"), [(False, 1), (True, 0)])
def test_failed_tests_warn_unless_they_are_a_gate(*, is_gated: bool, count: int) -> None:
    tests = answers.ProposalTestResult("failed", "its tests fail: a case")
    status = MergeStatus(
        None, MergeRequirements("", 0), ReviewTally((), (), ()), tests=tests, is_gated=is_gated
    )
    assert len(status.warnings) == count
    assert all("only 'tests.gate' of project.yaml" in why for why in status.warnings)
    part = ProjectImpact("left", tests=tests, is_gated=is_gated)
    others = replace(status, tests=None, others=(part,)).warnings
    assert [why[:14] for why in others] == ["project 'left'"] * count


@pytest.mark.parametrize(
    ("head", "plan", "why"),
    [
        ("other", "plan", "was of other, and head has been pushed since"),
        ("head", "other", "no longer counts: 'main' or the data has changed since"),
        ("old", "old", "was of old, and head has been pushed since"),
    ],
)
def test_an_approval_of_something_else_does_not_count_and_says_why(
    head: str, plan: str, why: str
) -> None:
    found = obstacles(proposed(said("bob", "approved", head, plan)))
    assert found[0] == "1 more approval needed"
    assert found[1].startswith(f"the approval of bob {why}")


def test_who_may_no_longer_review_neither_approves_nor_blocks() -> None:
    without_bob = EligibleReviewers(frozenset({"ada", "eve"}))
    approved = proposed(said("bob", "approved"))
    assert obstacles(approved) == []
    assert obstacles(approved, eligible=without_bob) == [
        "1 more approval needed",
        "the approval of bob no longer counts: they are no longer allowed to review",
    ]
    blocked = proposed(said("bob", "refused"), said("eve", "approved"))
    assert obstacles(blocked) == ["bob requested changes"]
    assert obstacles(blocked, eligible=without_bob) == []


def test_the_last_word_of_each_counts() -> None:
    asked = said("bob", "refused"), said("eve", "approved")
    assert obstacles(proposed(*asked)) == ["bob requested changes"]
    assert obstacles(proposed(*asked, said("bob", "approved"))) == []
    assert obstacles(proposed(*asked, said("bob", "commented"))) == ["bob requested changes"]
    assert obstacles(proposed(said("bob", "approved"), said("bob", "approved")), 2) == [
        "1 more approval needed"
    ]


def test_ones_own_word_counts_only_where_nobody_else_could_give_one() -> None:
    mine = proposed(said("ada", "approved"))
    assert obstacles(mine) == ["1 more approval needed"]
    assert obstacles(mine, eligible=EligibleReviewers(frozenset({"ada"}))) == []
    assert obstacles(mine, eligible=EligibleReviewers(None)) == []  # nobody has an account yet
    assert obstacles(mine, eligible=EligibleReviewers(frozenset({"bob"}))) != []


def test_where_too_few_could_approve_it_says_so() -> None:
    pair, both = EligibleReviewers(frozenset({"ada", "bob"})), replace(proposed(), pushers=("bob",))
    (_, why) = obstacles(both, eligible=pair)
    assert why.startswith("not enough reviewers: 1 must approve, 0 can, since authors")
    assert obstacles(proposed(), eligible=pair) == ["1 more approval needed"]
    assert obstacles(proposed(), 2, pair)[1].startswith(
        "not enough reviewers: 2 must approve, 1 can"
    )
    assert len(obstacles(both, eligible=EligibleReviewers(None))) == 1


def test_what_is_refused_is_not_merged_whoever_agrees() -> None:
    voices = tally_reviews(proposed(said("bob", "approved")), "plan", TEAM)
    demands = MergeRequirements("plan", 1, refused=("too much would be removed",))
    assert list(find_obstacles(demands, voices)) == ["too much would be removed"]


words = st.builds(
    said, st.sampled_from(["ada", "bob", "eve"]), st.sampled_from(VERDICTS),
    st.sampled_from(["head", "old"]), st.sampled_from(["plan", "old"]),
)  # fmt: skip


@pytest.mark.long
@given(st.lists(words, max_size=12))
def test_whoever_is_counted_said_last_that_this_is_good(reviews: list[Review]) -> None:
    voices = tally_reviews(proposed(*reviews), "plan", TEAM)
    for who in voices.approved:
        last = [one for one in reviews if one.who == who and one.verdict != "commented"][-1]
        assert (last.verdict, last.head, last.plan) == ("approved", "head", "plan")
    assert "ada" not in {*voices.approved, *(one.who for one in voices.outdated), *voices.refused}


# ---- its records


def test_a_proposal_is_kept_with_what_is_said_of_it(book: Book) -> None:
    made = book.proposals.add("shop", WISH)
    assert (made.number, made.state, made.reviews) == (1, "open", ())
    book.proposals.say("shop", 1, "bob@example.com", "approved", "fine", "plan")
    changed = book.proposals.change("shop", 1, head="b" * 40, title="Carts")
    assert (changed.head, changed.title, changed.description) == (
        "b" * 40,
        "Carts",
        WISH.description,
    )
    (review,) = changed.reviews
    assert (review.who, review.head, review.plan) == ("bob@example.com", "a" * 40, "plan")
    assert changed.changed > changed.created
    assert book.proposals.get("shop", 1) == changed
    assert book.proposals.get("shop", 2) is None
    assert book.proposals.get("blog", 1) is None


def test_each_project_counts_its_own_and_lists_them(book: Book) -> None:
    assert book.proposals.add("shop", WISH).number == 1
    assert book.proposals.add("shop", WISH, least=7).number == 7
    assert book.proposals.add("blog", WISH).number == 1
    book.proposals.change("shop", 1, state="merged", merged="c" * 40)
    assert [one.number for one in book.proposals.list("shop", None)] == [7, 1]
    assert [one.number for one in book.proposals.list("shop", "open")] == [7]
    found = book.proposals.find("shop", WISH)
    assert found is not None
    assert found.number == 7


def test_every_text_fits(book: Book) -> None:
    odd = replace(WISH, title="A\0" * 300, description="é" * 30_000)
    made = book.proposals.add("shop", odd)
    assert (made.title, len(made.description)) == ("A" * 200, 20_000)
    assert book.proposals.change("shop", 1, title="\0" * 300 + "B").title == "B"


def test_what_is_merged_or_closed_stays_so(book: Book) -> None:
    book.proposals.add("shop", WISH)
    book.proposals.change("shop", 1, state="closed")
    with pytest.raises(AccountError, match="proposal #1 is not open"):
        book.proposals.change("shop", 1, state="merged")
    assert book.proposals.find("shop", WISH) is None


def test_proposals_and_words_are_bounded(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "MOST_OPEN", 1)
    monkeypatch.setattr(proposals, "MOST_WORDS", 1)
    book.proposals.add("shop", WISH)
    with pytest.raises(AccountError, match="1 proposals are open"):
        book.proposals.add("shop", WISH)
    book.proposals.say("shop", 1, "bob", "commented", "x" * 30_000, "")
    with pytest.raises(AccountError, match="1 reviews and comments"):
        book.proposals.say("shop", 1, "bob", "commented", "y", "")


def test_how_ended_proposals_stood_is_kept_of_the_newest(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MOST_ENDED", 2)
    for number in range(1, 6):
        book.proposals.add("shop", WISH)
        book.proposals.keep_merge_status("shop", number, f"as {number}")
    book.proposals.add("blog", WISH)
    book.proposals.keep_merge_status("blog", 1, "of another project")
    for number in (2, 5, 3, 1):  # 4 stays open; 3 and 1 ended last
        book.proposals.change("shop", number, state="closed")
    book.proposals.keep_merge_status("shop", 4, "looked at again")
    found = [book.proposals.merge_status("shop", number) for number in range(1, 6)]
    assert found == ["as 1", None, "as 3", "looked at again", None]
    assert book.proposals.merge_status("blog", 1) == "of another project"


def test_a_merge_status_that_is_too_long_is_kept_without_what_makes_it_so() -> None:
    wrong = JsonDiagnostic("error", "x", "a.yaml", 1, 1, "a" * 500)
    tests = answers.ProposalTestResult("failed", "its tests fail", diagnostics=[wrong] * 900)
    long = MergeStatus(
        None, MergeRequirements("plan", 1), ReviewTally((), (), ()), (wrong,) * 900,
        {"plan": "p" * 300_000},
        "first line\n" + "t" * 300_000, tests, obstacles=("not yet",),
    )  # fmt: skip
    told = merge_status.encode(
        replace(long, others=(ProjectImpact("right", text="t" * 300_000, tests=tests),))
    )
    assert len(told) <= merge_status.MAX_BYTES
    found = merge_status.read(told)
    assert (found.plan, found.obstacles) == (None, ("not yet",))
    assert found.text.startswith("first line\n")
    assert found.text.endswith("… cut, it was too long to keep")
    assert found.others[0].text.endswith("… cut, it was too long to keep")
    assert (len(found.diagnostics), found.tests and len(found.tests.diagnostics)) == (20, 20)
    small = replace(long, plan={"plan": ""}, text="", diagnostics=(), tests=None)
    assert merge_status.read(merge_status.encode(small)) == small
    huge = replace(
        long, obstacles=("x" * 300_000,), demands=MergeRequirements("p", 1, ("x" * 300_000,))
    )
    assert merge_status.read(merge_status.encode(huge)).text == "how it stood was too long to keep"


def test_a_book_from_before_proposals_gets_their_tables(tmp_path: Path) -> None:
    with closing(Book.open(tmp_path)):
        pass
    with closing(sqlite3.connect(tmp_path / "control.sqlite")) as raw, raw:
        raw.executescript(
            "DROP TABLE proposals; DROP TABLE reviews; DROP TABLE replays;"
            "DELETE FROM schema_steps WHERE number > 1"
        )
    with closing(Book.open(tmp_path)) as book:
        assert book.proposals.add("shop", WISH).number == 1
