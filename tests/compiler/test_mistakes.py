"""The checker finds the mistakes that people make: each one where it stands, and once.

`python -m tests.mistakes --all` prints the rates of every operator over every place of the samples.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import ROOT
from tests.mistakes.__main__ import SEED, verdicts_of
from tests.mistakes.judging import Judge, Verdict, rate
from tests.mistakes.known import KNOWN
from tests.mistakes.mutants import OPERATORS, Mutant, mutants
from tests.mistakes.sample import FOLDERS, read_sample

AT_PLACE, SINGLE = 0.98, 0.90
"""The bars: parts of the mistakes that are told of where they are, and exactly once."""

SIZE, TWICE = 150, 40


@cache
def judges() -> dict[str, Judge]:
    return {folder.name: Judge(read_sample(folder)) for folder in FOLDERS}


@cache
def some_mutants() -> tuple[Mutant, ...]:
    """Return as many mutants of each operator, as far as there are so many."""
    by_operator: dict[str, list[Mutant]] = {}
    for judge in judges().values():
        for mutant in mutants(judge.sample):
            by_operator.setdefault(mutant.operator, []).append(mutant)
    choose, share = random.Random(7), SIZE // len(by_operator)
    chosen = (choose.sample(some, min(share, len(some))) for some in by_operator.values())
    return tuple(one for some in chosen for one in some)


@cache
def some_verdicts() -> tuple[Verdict, ...]:
    return tuple(judges()[one.sample].judge(one) for one in some_mutants())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_right_sample_raises_no_alarm(folder: Path) -> None:
    assert validate(MemoryTree(read_sample(folder).files))[1] == ()


@pytest.mark.long
def test_mistakes_are_told_of_where_they_are() -> None:
    assert rate(some_verdicts()).at_place >= AT_PLACE


def test_a_mistake_is_told_of_once() -> None:
    assert rate(some_verdicts()).single >= SINGLE


@pytest.mark.long
def test_mistakes_in_endpoints_with_steps_are_told_at_their_place_and_once() -> None:
    judge = Judge(read_sample(ROOT / "tests/golden/check/ok-endpoints/project"))
    verdicts = tuple(judge.judge(one) for one in mutants(judge.sample))
    assert [str(one.mutant) for one in verdicts if one.mutant.is_neutral and one.found] == []
    told = rate(verdicts)
    assert told.mistakes > 400
    assert (told.at_place >= AT_PLACE, told.single >= SINGLE) == (True, True)


@pytest.mark.long
def test_mistakes_in_rules_of_tables_are_told_at_their_place_and_once() -> None:
    judge = Judge(read_sample(ROOT / "tests/golden/check/ok-rules/project"))
    every = (judge.judge(one) for one in mutants(judge.sample))
    # every way to these rules has a user, so `vars.auth.userId` is right in them, too
    verdicts = [
        one for one in every
        if (one.mutant.operator, one.mutant.file[:7]) != ("drop a null check", "tables/")
    ]  # fmt: skip
    assert [str(one.mutant) for one in verdicts if one.mutant.is_neutral and one.found] == []
    assert [str(one.mutant) for one in verdicts if one.is_missed] == []
    told = rate(verdicts)
    assert told.mistakes > 500
    assert told.single >= SINGLE


@pytest.mark.long
def test_mistakes_in_columns_and_indexes_are_told_at_their_place_and_once() -> None:
    judge = Judge(read_sample(ROOT / "tests/golden/check/ok-tables/project"))
    verdicts = [judge.judge(one) for one in mutants(judge.sample)]
    assert [str(one.mutant) for one in verdicts if one.mutant.is_neutral and one.found] == []
    assert [str(one.mutant) for one in verdicts if one.is_missed] == []
    told = rate(verdicts)
    assert told.mistakes > 200
    assert (told.at_place >= AT_PLACE, told.single >= SINGLE) == (True, True)


def test_what_says_the_same_in_other_words_raises_no_alarm() -> None:
    neutral = [one for one in some_verdicts() if one.mutant.is_neutral]
    assert len(neutral) > 10
    assert [str(one.mutant) for one in neutral if one.found] == []


@pytest.mark.long
def test_an_edit_checked_again_gives_what_the_whole_project_does() -> None:
    for verdict in some_verdicts()[:: len(some_verdicts()) // TWICE]:
        whole = judges()[verdict.mutant.sample].judge_whole(verdict.mutant)
        assert whole.found == verdict.found, str(verdict.mutant)


@pytest.mark.long
def test_a_sample_of_mistakes_in_every_place_is_reported() -> None:
    print(f"BBOPS_SEED={SEED}")  # shown if it fails; `python -m tests.mistakes --all` takes all
    verdicts = verdicts_of(SEED)
    whole = rate(verdicts)
    assert {one.mutant.name for one in verdicts if one.is_missed} <= KNOWN.keys()
    assert whole.at_place >= AT_PLACE
    assert whole.single >= SINGLE
    assert not [str(one.mutant) for one in verdicts if one.mutant.is_neutral and one.found]


@pytest.mark.long
def test_each_mistake_that_is_known_not_to_be_told_of_is_not() -> None:
    missed = {
        one.name for judge in judges().values() for one in mutants(judge.sample)
        if one.name in KNOWN and judge.judge(one).is_missed
    }  # fmt: skip
    assert missed == KNOWN.keys()


# ---- the rules that say what a mistake is
def meaning(operator: str, file: str, what: str) -> bool:
    """Return whether a change to the sample `blog` counts as a mistake."""
    (found,) = {
        bool(one.speakers) for one in mutants(judges()["blog"].sample)
        if (one.operator, one.file) == (operator, file) and one.what.split(" -> ")[0] == what
    }  # fmt: skip
    return found


@pytest.mark.long
@pytest.mark.parametrize(("operator", "file", "what"), [
    ("misspell a key", "functions/auth/login.yaml", "steps"),
    ("misspell a key", "tables/users.yaml", "email"),
    ("misspell a key", "functions/auth/login.yaml", "token"),
    ("misspell a name", "endpoints/posts/list.yaml", "posts/list"),
    ("misspell a name", "functions/posts/list.yaml", "published_at"),
    ("misspell an option", "tables/users.yaml", "string"),
    ("drop a key", "functions/auth/login.yaml", "steps"),
    ("drop a key", "tables/users.yaml", "email"),
    ("double a key", "tables/users.yaml", "description"),
    ("swap a type", "tables/users.yaml", "string"),
])  # fmt: skip
def test_a_change_that_cannot_be_meant_is_a_mistake(operator: str, file: str, what: str) -> None:
    assert meaning(operator, file, what)


@pytest.mark.parametrize(("operator", "file", "what"), [
    ("drop a key", "tables/users.yaml", "description"),
    ("drop a key", "functions/posts/list.yaml", "orderBy"),
    ("drop a key", "channels/public-v1.yaml", "rateLimit"),
    ("misspell a key", "tests/auth/login.yaml", "password"),
    ("misspell a name", "functions/billing/webhook.yaml", "customer"),
])  # fmt: skip
def test_a_change_that_gives_another_right_project_is_none(
    operator: str, file: str, what: str
) -> None:
    assert not meaning(operator, file, what)


@pytest.mark.long
def test_every_operator_makes_mistakes_in_every_sample() -> None:
    for judge in judges().values():
        made = {one.operator for one in mutants(judge.sample) if one.speakers}
        assert made >= OPERATORS.keys() - {"drop a null check"}
