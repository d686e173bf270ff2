"""`bbops ci report`: one document of several results, and one comment of a proposal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from markdown_it import MarkdownIt

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.ci.report import MAX_CHARACTERS, make_document
from bbops.interfaces.ci.results import make_section, write_result
from bbops.interfaces.ci.sections.check import CheckReport
from bbops.interfaces.ci.sections.plan import PlanReport
from bbops.interfaces.ci.sections.preview import PreviewReport
from bbops.interfaces.cli._root_group import RootGroup
from tests.support.actions_runner import read_commands
from tests.support.forge_api import (
    OTHER_USER,
    TOKEN,
    ForgeApi,
    forge_api,
    github_api,
    variables,
)
from tests.support.planning import CASES, read_case

__all__ = ["forge_api", "github_api"]

COMMIT = "c" * 40
MARKER = "<!-- bbops ci: shop -->"
HOSTILE = "x -->\n@ada #1 <img src=x onerror=y> `a` | b [l](javascript:x) \x1b[31m ::error::z"


def finding(message: str = "wrong", number: int = 1) -> JsonDiagnostic:
    return JsonDiagnostic("error", "unknown-key", "a.yaml", number, 1, message, "remove it")


def check_report(*findings: JsonDiagnostic, project: str = "shop") -> CheckReport:
    return CheckReport(1, project, COMMIT, 9, len(findings), 0, 0, 7, 0, findings)


def plan_report(name: str = "route-removed", *, conflicts: tuple[str, ...] = ()) -> PlanReport:
    case = next(case for case in CASES if case.name == name)
    return PlanReport(1, "shop", COMMIT, conflicts, read_case(case).document)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with the results of a check with an error, and of a plan."""
    write_result(tmp_path / "results", "check", check_report(finding()))
    write_result(tmp_path / "results", "plan", plan_report())
    return tmp_path / "results"


Report = Callable[..., Result]


@pytest.fixture
def report(tmp_path: Path, results: Path) -> Report:
    """Run `bbops ci report` with the results of the fixture above."""

    def run(*arguments: str, env: dict[str, str] | None = None) -> Result:
        command = ["ci", "report", str(tmp_path), "--results", str(results), *arguments]
        return CliRunner().invoke(RootGroup("bbops"), command, env=env)

    return run


def test_report_has_a_part_for_each_result(report: Report) -> None:
    done = report()
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{MARKER}\n<!-- bbops digest: ")
    assert "| **Check: failed** | 1 error, 7 tests passed |" in done.stdout
    assert "| Plan | 1 break, 1 route, 1 file |" in done.stdout
    assert "| **error** | `a.yaml:1` | wrong `unknown-key`<br>remove it |" in done.stdout
    assert "<sub>commit `cccccccccccc`</sub>" in done.stdout


def test_preview_is_linked(report: Report, results: Path) -> None:
    write_result(results, "preview", PreviewReport("shop", COMMIT, "live", "https://p.example.org"))
    done = report()
    assert "| Preview | live |" in done.stdout
    assert "<https://p.example.org>" in done.stdout


def test_message_of_a_result_is_not_a_command_of_the_forge(report: Report, results: Path) -> None:
    failed = PreviewReport("shop", COMMIT, "failed", message="/merge now, see group/shop!12")
    write_result(results, "preview", failed)
    lines = report().stdout.splitlines()
    assert "\\/merge now, see group/shop!&#8203;12" in lines
    assert [line for line in lines if line.startswith("/")] == []


def test_report_goes_to_a_file(report: Report, tmp_path: Path) -> None:
    done = report("--output", str(tmp_path / "report.md"))
    assert done.stdout == ""
    assert (tmp_path / "report.md").read_text().startswith(MARKER)


def test_json_has_the_markdown(report: Report) -> None:
    found = json.loads(report("--json").stdout)
    assert found["markdown"].startswith(MARKER)
    assert (found["project"], found["comment"], found["warning"]) == ("shop", "", "")


def test_report_without_results_exits_with_2(tmp_path: Path) -> None:
    done = CliRunner().invoke(RootGroup("bbops"), ["ci", "report", str(tmp_path)])
    assert (done.exit_code, "there are no results in" in done.stderr) == (2, True)
    assert "bbops ci check" in done.stderr


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 2}', "[" * 100_000, "\xff"])
def test_result_that_is_not_valid_exits_with_2(report: Report, results: Path, text: str) -> None:
    (results / "check.json").write_bytes(text.encode("latin-1"))
    done = report()
    assert (done.exit_code, "is not a result" in done.stderr) == (2, True)
    assert "run 'bbops ci check' again" in done.stderr


def test_large_result_exits_with_2(report: Report, results: Path) -> None:
    with (results / "plan.json").open("wb") as file:
        file.truncate(9 << 20)
    done = report()
    assert (done.exit_code, "is too large" in done.stderr) == (2, True)


# ---- hostile and long content
def document_of(*reports: Any) -> str:
    names = {CheckReport: "check", PlanReport: "plan", PreviewReport: "preview"}
    sections = [make_section(names[type(made)], made) for made in reports]
    return make_document(sections, "").markdown


def test_texts_of_a_project_stay_text() -> None:
    preview = PreviewReport(HOSTILE, HOSTILE, "failed", HOSTILE, HOSTILE)
    text = document_of(
        check_report(finding(HOSTILE), project=HOSTILE), preview, plan_report(conflicts=(HOSTILE,))
    )
    first, *rest = text.splitlines()
    assert first.startswith("<!-- bbops ci: x-")
    assert first.count("-->") == 1
    assert "\x1b" not in text
    html, links = read_markup("\n".join(rest))
    assert html <= {"<br>", "<sub>", "</sub>", "<details open>", "<details>", "</details>"}
    assert links == set()
    assert "@ada" not in outside_of_code("\n".join(rest))


def read_markup(markdown: str) -> tuple[set[str], set[str]]:
    """Return the HTML tags and the targets of links in a text, apart from comments."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    blocks = parser.parse(markdown)
    tokens = [token for block in blocks for token in (block, *(block.children or ()))]
    html = "".join(token.content for token in tokens if token.type.startswith("html"))
    tags = set(re.findall(r"<[^>]*>", re.sub(r"<!--.*?-->|</?summary>", "", html)))
    links = {str(token.attrGet("href")) for token in tokens if token.type == "link_open"}
    return tags, links


def outside_of_code(text: str) -> str:
    return "".join(text.split("`")[::2])


@pytest.mark.parametrize("count", [0, 3, 500])
def test_report_stays_below_the_limit(count: int) -> None:
    findings = [finding("long " * 150, number) for number in range(1, count + 1)]
    text = document_of(check_report(*findings), plan_report())
    assert len(text) <= MAX_CHARACTERS
    assert "### Plan" in text
    assert ("more |" in text) == (count == 500)


def test_content_that_cannot_be_shortened_leaves_the_summary() -> None:
    conflicts = ("x" * 70_000,)
    text = document_of(plan_report(conflicts=conflicts))
    assert len(text) <= MAX_CHARACTERS
    assert "| **Plan: failed** | merge conflict;" in text
    assert "The details are too long for a comment" in text


def test_digest_depends_on_the_content_alone() -> None:
    sections = [make_section("plan", plan_report())]
    one, other = (make_document(sections, "", url=f"https://example.org/{run}") for run in (1, 2))
    assert one.digest == other.digest
    assert one.markdown != other.markdown
    changed = make_document([make_section("plan", plan_report("field-removed"))], "")
    assert changed.digest != one.digest


def test_marker_names_the_folder_of_a_monorepo() -> None:
    sections = [make_section("plan", plan_report())]
    document = make_document(sections, "services/shop")
    assert document.marker == "<!-- bbops ci: shop in services/shop -->"


def test_results_are_read_back_as_written() -> None:
    for made in (check_report(finding()), plan_report(conflicts=("a.yaml",))):
        assert msgspec.json.decode(msgspec.json.encode(made), type=type(made)) == made


# ---- comments
@pytest.fixture
def comment(report: Report, tmp_path: Path) -> Callable[..., Result]:
    """Run `bbops ci report --comment` in a job of a forge."""
    event = tmp_path / "event.json"
    sides = {side: {"repo": {"full_name": "ada/shop"}} for side in ("head", "base")}
    event.write_text(json.dumps({"pull_request": {"number": 12, **sides}}))

    def run(forge: ForgeApi, *arguments: str, **env: str) -> Result:
        known = variables(forge) | {"GITHUB_EVENT_PATH": str(event)}
        return report("--comment", *arguments, env={**known, **env})

    return run


Comment = Callable[..., Result]


def test_comment_is_created_then_left_then_changed(
    forge_api: ForgeApi, comment: Comment, results: Path
) -> None:
    assert "the comment was created" in comment(forge_api).stdout
    assert "the comment is up to date" in comment(forge_api).stdout
    assert len(forge_api.bodies) == 1
    write_result(results, "check", check_report())
    assert "the comment was updated" in comment(forge_api).stdout
    (body,) = forge_api.bodies
    assert body.startswith(MARKER)
    assert "no problems in 9 resources" in body
    writes = [request.method for request in forge_api.requests if request.method != "GET"]
    assert writes == ["POST", "PUT" if forge_api.kind == "gitlab" else "PATCH"]


def test_token_is_only_in_a_header(forge_api: ForgeApi, comment: Comment) -> None:
    done = comment(forge_api)
    assert TOKEN not in done.output
    for request in forge_api.requests:
        assert TOKEN not in f"{request.path}?{request.query} {request.body}"
        carrying = {name for name, value in request.headers.items() if TOKEN in value}
        expected = "private-token" if forge_api.kind == "gitlab" else "authorization"
        assert carrying == {expected}


def test_comments_of_other_users_are_not_changed(forge_api: ForgeApi, comment: Comment) -> None:
    forge_api.login = "bbops-ci"
    forge_api.add(f"{MARKER}\nfake", OTHER_USER)
    forge_api.add(f"quoted: {MARKER}")
    assert "the comment was created" in comment(forge_api).stdout
    assert forge_api.bodies[0] == f"{MARKER}\nfake"
    assert "the comment is up to date" in comment(forge_api).stdout


def test_job_token_without_a_user_finds_its_comment(github_api: ForgeApi, comment: Comment) -> None:
    github_api.add(f"{MARKER}\nfake", OTHER_USER)
    comment(github_api)
    assert "the comment is up to date" in comment(github_api).stdout


def test_comment_is_found_on_a_later_page(forge_api: ForgeApi, comment: Comment) -> None:
    for number in range(150):
        forge_api.add(f"Comment {number}", OTHER_USER)
    number = forge_api.add(f"{MARKER}\nold")
    assert "the comment was updated" in comment(forge_api).stdout
    assert forge_api.requests[-1].path.endswith(f"/{number}")


def test_search_for_a_comment_ends(github_api: ForgeApi, comment: Comment) -> None:
    github_api.ignores_pages = True
    for number in range(250):
        github_api.add(f"Comment {number}", OTHER_USER)
    assert "the comment was created" in comment(github_api).stdout
    assert [request.method for request in github_api.requests].count("GET") == 2


def test_other_project_has_its_own_comment(
    github_api: ForgeApi, comment: Comment, results: Path
) -> None:
    comment(github_api)
    (results / "plan.json").unlink()
    write_result(results, "check", check_report(project="blog"))
    assert "the comment was created" in comment(github_api).stdout
    assert len(github_api.bodies) == 2


@pytest.mark.parametrize("refused", [{"writes": 403}, {"reads": 403}, {"reads": 404}])
def test_report_goes_to_the_summary_without_permission(
    github_api: ForgeApi, comment: Comment, tmp_path: Path, refused: dict[str, int]
) -> None:
    for name, status in refused.items():
        setattr(github_api, name, status)
    done = comment(github_api, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))
    assert done.exit_code == 0, done.output
    warnings = [command for command in read_commands(done.stdout) if command.name == "warning"]
    assert "the job may not comment:" in warnings[0].data
    assert "the report is in the summary of the step" in warnings[0].data
    assert (tmp_path / "summary.md").read_text().startswith(MARKER)


def test_expired_token_exits_with_2(forge_api: ForgeApi, comment: Comment) -> None:
    forge_api.reads = 401
    done = comment(forge_api)
    assert (done.exit_code, "answered 401" in done.stderr) == (2, True)
    assert "the token has expired" in done.stderr


def test_failure_of_the_forge_exits_with_2(github_api: ForgeApi, comment: Comment) -> None:
    github_api.writes = 500
    done = comment(github_api)
    assert (done.exit_code, "answered 500" in done.stderr) == (2, True)


def test_job_without_a_token_names_the_variable(github_api: ForgeApi, comment: Comment) -> None:
    done = comment(github_api, GITHUB_TOKEN="")
    assert (done.exit_code, "GITHUB_TOKEN is not set" in done.stderr) == (2, True)
    assert github_api.requests == []


def test_fork_without_a_token_gets_a_warning(
    github_api: ForgeApi, comment: Comment, tmp_path: Path
) -> None:
    sides = {"head": {"repo": {"full_name": "bob/shop"}}, "base": {}}
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 12, **sides}}))
    done = comment(github_api, GITHUB_TOKEN="")
    assert done.exit_code == 0, done.output
    assert "the job may not comment: GITHUB_TOKEN is not set" in done.stdout


def test_push_has_no_comment(github_api: ForgeApi, comment: Comment) -> None:
    done = comment(github_api, GITHUB_EVENT_NAME="push")
    assert done.exit_code == 0, done.output
    assert "the job is not about a proposal" in done.stdout
    assert github_api.requests == []


@pytest.mark.parametrize("token", ["a b", "a\nb", "ä"])
def test_token_that_is_not_valid_is_not_shown(
    github_api: ForgeApi, comment: Comment, token: str
) -> None:
    done = comment(github_api, GITHUB_TOKEN=token)
    assert (done.exit_code, "GITHUB_TOKEN is not a valid token" in done.stderr) == (2, True)
    assert token not in done.stderr


def test_token_is_not_sent_over_plain_http(github_api: ForgeApi, comment: Comment) -> None:
    done = comment(github_api, GITHUB_API_URL="http://github.example.org/api")
    assert (done.exit_code, "without https" in done.stderr) == (2, True)


def test_unreachable_forge_exits_with_2(github_api: ForgeApi, comment: Comment) -> None:
    github_api.shutdown()
    github_api.server_close()
    done = comment(github_api)
    assert (done.exit_code, "cannot comment: cannot reach" in done.stderr) == (2, True)


def test_other_systems_have_no_comments(report: Report) -> None:
    done = report("--comment")
    assert (done.exit_code, "comments need a job of" in done.stderr) == (2, True)
