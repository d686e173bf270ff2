"""The desired state of a pull request, from the effect of its merge."""

from __future__ import annotations

import pytest

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProposalTestResult
from bbops_server.publish.pull_requests.desired import (
    MAX_SUMMARY,
    DesiredPull,
    PullPlace,
    PullPreview,
    digest,
    make_desired,
)
from bbops_server.publish.pull_requests.effects import PullEffect

pytestmark = pytest.mark.quick

HEAD = "4f3c2a1b9d8e7f605142332415060708090a0b0c"
ROOT = PullPlace("shop", page="http://127.0.0.1:8001/projects/shop")
PREVIEW = PullPreview("http://127.0.0.1:8000/~drafts/prices/")
ERROR = JsonDiagnostic(
    "error", "unknown-table", "endpoints/notes/list.yaml", 3, 7, "there is no table 'nots'",
    "did you mean 'notes'?",
)  # fmt: skip
PASSED = ProposalTestResult("passed", "its tests pass: 3 cases in 0.2 s", 3)
FAILED = ProposalTestResult(
    "failed", "its tests fail: tests/list.yaml:4: expected 200, got 404", 2, 1,
    diagnostics=[JsonDiagnostic("error", "test", "tests/list.yaml", 4, 1, "expected 200, got 404")],
)  # fmt: skip


def desired(
    effect: PullEffect, preview: PullPreview = PREVIEW, place: PullPlace = ROOT, *,
    runs: bool = True,
) -> DesiredPull:  # fmt: skip
    """Return the desired state of pull request 7."""
    return make_desired(7, effect, preview, place, runs=runs)


def test_an_error_fails_the_check_at_its_file_and_line() -> None:
    wanted = desired(PullEffect(HEAD, diagnostics=(ERROR,)))
    assert wanted.check.state == "failure"
    assert wanted.check.summary == "1 error, tests not run"
    assert [(found.file, found.line) for found in wanted.check.findings] == [(ERROR.file, 3)]
    assert ERROR.message in wanted.comment.markdown
    assert wanted.preview is None


@pytest.mark.parametrize(
    ("effect", "reason"),
    [
        (PullEffect(HEAD, diagnostics=(ERROR,)),
         "1 error, tests not run: endpoints/notes/list.yaml:3: there is no table 'nots'"),
        (PullEffect(HEAD, tests=FAILED), FAILED.summary),
        (PullEffect(HEAD, tests=PASSED, refused=("no value for KEY",)),
         "nothing to compare it with; it would not go live: no value for KEY"),
        (PullEffect(HEAD, conflicts=("a.yaml",)), "merge conflict in 1 file"),
        (PullEffect(HEAD, problem="its base is gone"), "it cannot be checked: its base is gone"),
        (PullEffect(HEAD, tests=PASSED), ""),
    ],
)  # fmt: skip
def test_failure_has_a_reason_in_one_line(effect: PullEffect, reason: str) -> None:
    assert desired(effect).reason == reason


def test_files_are_named_from_the_root_of_the_repository() -> None:
    place = PullPlace("shop", "services/shop")
    wanted = desired(PullEffect(HEAD, diagnostics=(ERROR,)), place=place)
    assert wanted.check.name == "bbops/check (shop)"
    assert wanted.check.findings[0].file == f"services/shop/{ERROR.file}"


def test_failed_tests_fail_the_check_with_their_places() -> None:
    wanted = desired(PullEffect(HEAD, tests=FAILED))
    assert wanted.check.state == "failure"
    assert "expected 200" in wanted.check.summary
    assert wanted.check.findings[0].file == "tests/list.yaml"


def test_tests_without_a_result_fail_the_check() -> None:
    unknown = ProposalTestResult("unknown", "its tests could not be run: the disk is full")
    assert desired(PullEffect(HEAD, tests=unknown)).check.state == "failure"


def test_a_missing_value_fails_the_plan_and_not_the_check() -> None:
    missing = "env API_KEY has no value, and the merge would not go live"
    wanted = desired(PullEffect(HEAD, tests=PASSED, refused=(missing,)))
    assert (wanted.check.state, wanted.plan.state) == ("success", "failure")
    assert "API\\_KEY" in wanted.comment.markdown or "API_KEY" in wanted.comment.markdown


def test_a_new_project_has_no_plan_and_no_failure() -> None:
    wanted = desired(PullEffect(HEAD, tests=PASSED))
    assert (wanted.plan.state, wanted.plan.summary) == ("success", "nothing to compare it with")


def test_conflicts_fail_both_and_have_no_preview_of_the_merge() -> None:
    wanted = desired(PullEffect(HEAD, conflicts=("project.yaml",)))
    assert wanted.plan.state == "failure"
    assert "merge conflict in 1 file" in wanted.check.summary


def test_a_change_of_other_files_succeeds_without_a_comment() -> None:
    wanted = desired(PullEffect(HEAD, is_changed=False))
    assert wanted.is_ok
    assert not wanted.is_commented
    assert wanted.preview is None


def test_a_fork_waits_for_a_maintainer_and_has_no_preview() -> None:
    wanted = desired(PullEffect(HEAD), PullPreview(), runs=False)
    assert "a maintainer allows this commit" in wanted.check.summary
    assert wanted.preview is None


def test_the_preview_is_a_deployment_of_its_own() -> None:
    wanted = desired(PullEffect(HEAD, tests=PASSED))
    assert wanted.preview is not None
    assert (wanted.preview.environment, wanted.preview.commit) == ("preview/7", HEAD)
    assert wanted.preview.url == PREVIEW.url


def test_digests_change_with_head_and_content_alone() -> None:
    one, same = desired(PullEffect(HEAD, tests=PASSED)), desired(PullEffect(HEAD, tests=PASSED))
    other = desired(PullEffect("0" * 40, tests=PASSED))
    assert digest(one.check) == digest(same.check) != digest(other.check)
    assert one.comment.digest == same.comment.digest


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "![x](https://evil.example/p)"])
def test_texts_of_a_project_are_no_markup(text: str) -> None:
    hostile = JsonDiagnostic("error", "x", "a.yaml", 1, 1, text)
    markdown = desired(PullEffect(HEAD, diagnostics=(hostile,))).comment.markdown
    assert text not in markdown


def test_a_long_reason_is_cut_for_the_status() -> None:
    wanted = desired(PullEffect(HEAD, problem="x" * 1_000))
    assert len(wanted.check.summary) == MAX_SUMMARY
