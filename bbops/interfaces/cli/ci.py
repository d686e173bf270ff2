"""Check, plan and report a change in a job of a CI system."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bbops.base.console import say, wants_color
from bbops.base.errors import BbopsError
from bbops.interfaces.cli._ci_server import (
    clear_earlier_result,
    find_under,
    preview,
    publish,
    read_job,
    results_option,
    to_json,
)
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli.validate import require_project

if TYPE_CHECKING:
    from bbops.interfaces.ci.run import CiRun

SEVERITIES = ("breaking", "access", "destructive", "depends", "refused")

_ROWS = 1_000
"""Rows of a table in the summary of a step."""

folder_argument = click.argument(
    "folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path)
)
base_option = click.option(
    "--base", metavar="REV", default="",
    help="The revision to compare with; by default the target of the change.",
)  # fmt: skip
commit_option = click.option(
    "--commit", metavar="REV", default="",
    help="The commit of the change; by default the commit of the job.",
)  # fmt: skip
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, without annotations."
)


class JobGroup(CommandGroup):
    """A group whose errors are annotations in CI systems that have them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and annotate its error before it is printed."""
        try:
            return super().invoke(ctx)
        except BbopsError as error:
            from bbops.interfaces.ci.reporting import annotate_error  # noqa: PLC0415 - after --help

            with suppress(BbopsError):  # the run itself cannot be read
                if text := annotate_error(read_job(), error.message, error.hint):
                    click.echo(text, err=True)
            raise


@examples("bbops ci check", "bbops ci plan --fail-on breaking")
@click.group(cls=JobGroup)
def command() -> None:
    """Check, plan and report a change in a job of a CI system.

    Works in GitHub Actions, Gitea and Forgejo Actions, GitLab CI/CD, Jenkins and other systems, and
    the same way on your own machine. See docs/ci.md.
    """


@examples("bbops ci check", "bbops ci check --sarif bbops.sarif --junit tests.xml")
@command.command("check")
@folder_argument
@click.option("--no-tests", is_flag=True, help="Do not run the tests of the project.")
@click.option(
    "--database-url", metavar="URL", default="",
    help="Run the tests on PostgreSQL, in temporary schemas; by default on SQLite.",
)  # fmt: skip
@click.option(
    "--sarif", metavar="FILE", type=click.Path(path_type=Path), help="Write SARIF as well."
)
@click.option(
    "--junit", metavar="FILE", type=click.Path(path_type=Path),
    help="Write JUnit XML of the tests as well.",
)  # fmt: skip
@click.option(
    "--code-quality", metavar="FILE", type=click.Path(path_type=Path),
    help="Write a Code Quality report for GitLab as well.",
)  # fmt: skip
@results_option
@json_option
def check(
    folder: Path, *, no_tests: bool, database_url: str, sarif: Path | None, junit: Path | None,
    code_quality: Path | None, results: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Validate the project in DIR, check its format, and run its tests.

    Needs nothing but the checkout: no server, no token. Errors become annotations and the summary
    of the step, in CI systems that have them. The outputs of the step are valid, errors, warnings,
    tests, failed and unformatted.

    Exits with 0 without findings, warnings aside, with 1 with findings, with 2 when it cannot run.
    """
    require_project(folder)
    clear_earlier_result("check", folder, results)
    from bbops.interfaces.ci import check as work  # noqa: PLC0415 - after --help
    from bbops.interfaces.ci.files import write_file  # noqa: PLC0415
    from bbops.interfaces.ci.reporting import (  # noqa: PLC0415
        annotate,
        describe_rest,
        guard_text,
        render_code_quality,
    )
    from bbops.interfaces.ci.sections.check import headline  # noqa: PLC0415

    run, under = read_job(), find_under(folder)
    checked = work.check_folder(run, folder, has_tests=not no_tests, database=database_url)
    report = work.make_report(checked, run, folder, under)
    if sarif is not None:
        write_file(sarif, work.render_findings(checked, "sarif", under).encode())
    if junit is not None:
        write_file(junit, work.as_junit(checked))
    if code_quality is not None:
        write_file(code_quality, render_code_quality(checked.findings, folder=under).encode())
    outputs = {
        "valid": not report.errors, "errors": report.errors, "warnings": report.warnings,
        "tests": report.tests or 0, "failed": report.failed, "unformatted": report.unformatted,
    }  # fmt: skip
    _publish(run, "check", report, folder, under, results, outputs)
    if as_json:
        say(to_json(report))
        return int(not report.is_ok)
    text = work.render_findings(checked, "text", under, color=wants_color(sys.stdout))
    say("\n".join(filter(None, (
        guard_text(run, "\n".join(filter(None, (text, headline(report))))),
        annotate(run, checked.findings, folder=under),
        describe_rest(checked.findings) if run.has_commands and sarif is None else "",
    ))))  # fmt: skip
    return int(not report.is_ok)


@examples("bbops ci plan", "bbops ci plan --fail-on breaking --fail-on destructive")
@command.command("plan")
@folder_argument
@base_option
@commit_option
@click.option(
    "--fail-on", "fail_on", multiple=True, type=click.Choice(SEVERITIES),
    help="Exit with 1 if the change has such effects; can be repeated.",
)  # fmt: skip
@click.option(
    "--markdown", metavar="FILE", type=click.Path(path_type=Path), help="Write Markdown as well."
)
@results_option
@json_option
def plan(
    folder: Path, *, base: str, commit: str, fail_on: tuple[str, ...], markdown: Path | None,
    results: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Show the effects of the change that the job is about.

    For a proposal, compares the tip of its target with the merge of both; for a push, the commit
    before it with the pushed commit; elsewhere, the main branch with this folder. The outputs of
    the step are plan-hash, changes, breaking, access, destructive, depends, refused and approvals.

    Exits with 0 with and without changes, for a change is not an error in a CI job; with 1 for a
    merge conflict, for a project with errors and for --fail-on; with 2 when it cannot run, such as
    in a clone without the target's history.
    """
    require_project(folder)
    clear_earlier_result("plan", folder, results)
    from bbops.interfaces.ci import plan as work  # noqa: PLC0415 - after --help
    from bbops.interfaces.ci.comparing import open_checkout  # noqa: PLC0415
    from bbops.interfaces.ci.files import write_file  # noqa: PLC0415
    from bbops.interfaces.ci.reporting import guard_text, write_summary  # noqa: PLC0415
    from bbops.interfaces.ci.run import project_name  # noqa: PLC0415

    run, checkout = read_job(base=base, commit=commit), open_checkout(folder)
    try:
        report = work.make_plan(run, checkout, base=base, commit=commit)
    except work.InvalidRevision as error:
        click.echo(guard_text(run, work.describe_errors(error)), err=True)
        write_summary(run, work.render_markdown_errors(error, project_name(folder)))
        return 1
    if markdown is not None:
        write_file(markdown, work.render_markdown_report(report).encode())
    _publish(run, "plan", report, folder, checkout.under, results, work.outputs_of(report))
    failed = work.failed_severities(report, fail_on)
    if as_json:
        say(to_json(report))
    else:
        lines = [work.render_report(report, color=wants_color(sys.stdout))]
        lines += [f"failed: --fail-on {name}" for name in failed]
        say(guard_text(run, "\n".join(lines)))
    return int(bool(failed or report.conflicts))


@examples("bbops ci report", "bbops ci report --comment")
@command.command("report")
@folder_argument
@click.option(
    "--output", metavar="FILE", type=click.Path(path_type=Path),
    help="Write the Markdown to a file instead of printing it.",
)  # fmt: skip
@click.option(
    "--comment", is_flag=True,
    help="Write the report as a comment of the proposal, with the token of the job.",
)  # fmt: skip
@results_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of Markdown.")
def report(
    folder: Path, *, output: Path | None, comment: bool, results: Path | None, as_json: bool
) -> None:
    """Print one Markdown report of the results of check, plan and preview.

    The results are those of this job, or of an earlier job whose folder of results was kept.

    --comment creates or changes a single comment of the proposal. The token is read from
    GITHUB_TOKEN, GITEA_TOKEN, FORGEJO_TOKEN or GITLAB_TOKEN. Without the permission to comment,
    as for proposals of forks, the report goes to the summary of the step, with a warning.
    """
    from bbops.interfaces.ci.files import write_file  # noqa: PLC0415 - after --help
    from bbops.interfaces.ci.report import comment_on, make_document  # noqa: PLC0415
    from bbops.interfaces.ci.reporting import guard_text, warn  # noqa: PLC0415
    from bbops.interfaces.ci.results import read_sections, results_folder  # noqa: PLC0415

    run, under = read_job(), find_under(folder)
    sections = read_sections(results_folder(run, folder, under, results))
    document = make_document(sections, under, url=run.url)
    if output is not None:
        write_file(output, document.markdown.encode())
    state, warning = comment_on(run, document, os.environ) if comment else ("", "")
    if as_json:
        say(to_json({"project": document.project, "comment": state, "warning": warning,
                      "markdown": document.markdown}))  # fmt: skip
    elif output is None and not state:
        say(guard_text(run, document.markdown.rstrip("\n")))
    if state and not as_json:
        say(f"the comment was {state}" if state != "unchanged" else "the comment is up to date")
    if warning and not as_json:
        say(warn(run, warning))


def _publish(
    run: CiRun, name: str, result: Any, folder: Path, under: str, results: Path | None,
    outputs: Mapping[str, object],
) -> None:  # fmt: skip
    """Write the result, the outputs and the summary of a command."""
    from bbops.interfaces.ci.report import render_section  # noqa: PLC0415 - after --help
    from bbops.interfaces.ci.reporting import write_outputs, write_summary  # noqa: PLC0415
    from bbops.interfaces.ci.results import (  # noqa: PLC0415
        make_section,
        results_folder,
        write_result,
    )

    write_result(results_folder(run, folder, under, results), name, result)
    write_outputs(run, outputs)
    if run.summary is not None:
        write_summary(run, render_section(make_section(name, result), _ROWS))


command.add_command(publish)
command.add_command(preview)
