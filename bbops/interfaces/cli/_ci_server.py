"""`bbops ci publish` and `bbops ci preview`: commands of a CI job that ask a server."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from bbops.base.addresses import check_address
from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.base.render import printable, render
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._server import find_server, find_token, of_project, of_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bbops.base.json_diagnostics import JsonDiagnostic
    from bbops.interfaces.ci.run import CiRun
    from bbops.interfaces.ci.session import JobSession


# ---- The run of a CI job, the folder of its project, and results as JSON, for `bbops ci`

results_option = click.option(
    "--results", metavar="DIR", type=click.Path(path_type=Path),
    help="The folder for the results; by default .bbops/ci, or RUNNER_TEMP on GitHub.",
)  # fmt: skip


WAIT_SECONDS: Final = 300.0

_folder = click.argument(
    "folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path)
)  # fmt: skip

_commit = click.option(
    "--commit", metavar="ID", default="",
    help="The whole id of the commit; by default the commit of the job.",
)  # fmt: skip

_timeout = click.option(
    "--timeout", "timeout_seconds", type=click.FloatRange(min=0, min_open=True),
    default=WAIT_SECONDS, show_default=True, metavar="SECONDS", help="How long to wait.",
)  # fmt: skip

_json = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, without annotations."
)


@examples("bbops ci publish --server https://bbops.example.com", "bbops ci publish --timeout 600")
@click.command("publish")
@_folder
@of_project
@of_server
@_commit
@_timeout
@_json
def publish(
    folder: Path, *, project: str | None, server: str, commit: str, timeout_seconds: float,
    as_json: bool,
) -> int:  # fmt: skip
    """Make a server publish the commit of the job, and wait until it is live.

    The server reads the commit from its own repository; nothing is uploaded. The job needs no
    stored secret: the server accepts the identity token of a job that 'ci' in server.yaml names.
    BBOPS_TOKEN comes first where it is set. The outputs of the step are state, live-sha, version,
    url and release.

    Exits with 0 when the commit is live, or a newer commit that contains it; with 1 when it has
    stalled, when a maintainer has to accept it first, or when the server has not seen it in time.
    """
    from bbops.interfaces.ci import publish as work  # noqa: PLC0415 - after --help
    from bbops.interfaces.ci.reporting import write_outputs, write_summary  # noqa: PLC0415

    run = read_job(commit=commit)
    session = _open(run, server, project, timeout_seconds)
    try:
        report = work.wait_for_commit(session, work.require_commit(run.commit))
    finally:
        session.close()
    write_outputs(run, work.outputs_of(report))
    write_summary(run, work.render_markdown(report))
    message = report.message if report.state == "stalled" else ""
    _print(run, report, folder, (work.headline(report), message), report.diagnostics,
           as_json=as_json)  # fmt: skip
    return int(not report.is_ok)


@examples("bbops ci preview --server https://bbops.example.com")
@click.command("preview")
@_folder
@of_project
@of_server
@_commit
@results_option
@_timeout
@_json
def preview(
    folder: Path, *, project: str | None, server: str, commit: str, results: Path | None,
    timeout_seconds: float, as_json: bool,
) -> int:  # fmt: skip
    """Wait until the draft of the job's branch serves its commit.

    The draft opens for members of the project; this command gives no access. The outputs of
    the step are state, url and draft.

    Exits with 0 when the draft serves the commit, and for a proposal of a fork, which has no draft;
    with 1 when the draft has failed, or is not ready in time.
    """
    clear_earlier_result("preview", folder, results)
    from bbops.interfaces.ci import preview as work  # noqa: PLC0415 - after --help

    run = read_job(commit=commit)
    if run.is_fork:
        skipped = {"state": "skipped", "commit": run.commit, "message": work.FORK}
        say(to_json(skipped) if as_json else work.FORK)
        return 0
    from bbops.interfaces.ci.publish import require_commit  # noqa: PLC0415
    from bbops.interfaces.ci.reporting import write_outputs, write_summary  # noqa: PLC0415
    from bbops.interfaces.ci.results import results_folder, write_result  # noqa: PLC0415

    branch, whole = work.require_branch(run), require_commit(run.commit)
    session = _open(run, server, project, timeout_seconds)
    try:
        found = work.wait_for_draft(session, branch, whole)
    finally:
        session.close()
    write_result(results_folder(run, folder, find_under(folder), results), "preview", found.report)
    write_outputs(run, work.outputs_of(found))
    write_summary(run, work.render_markdown(found))
    _print(run, found.report, folder, (work.headline(found),), found.diagnostics, as_json=as_json)
    return int(found.report.state != "live")


def _open(run: CiRun, server: str, project: str | None, seconds: float) -> JobSession:
    from bbops.interfaces.ci.session import JobSession  # noqa: PLC0415 - httpx: 100 ms

    _require_server(run)
    url = check_address(server)
    end = time.monotonic() + seconds
    return JobSession(run, os.environ, url, find_token(url), project or "", _hide(run), end)


def _require_server(run: CiRun) -> None:
    """Raises: ServerError: the server of a CI job would be the default, on the runner itself."""
    source = click.get_current_context().get_parameter_source("server")
    if run.is_ci and source is ParameterSource.DEFAULT and not find_server():
        raise ServerError(
            "this job names no server",
            hint="set the variable BBOPS_SERVER to the address of the server's control plane",
        )


def _hide(run: CiRun) -> Callable[[str], None]:
    """Return a function that hides a secret in the log; runners read commands from stderr, too."""
    from bbops.interfaces.ci.identity import mask  # noqa: PLC0415 - after --help

    def hide(secret: str) -> None:
        if command := mask(run, secret):
            click.echo(command, err=True)

    return hide


def _print(
    run: CiRun, report: Any, folder: Path, lines: Sequence[str],
    diagnostics: Sequence[JsonDiagnostic], *, as_json: bool,
) -> None:  # fmt: skip
    from bbops.interfaces.ci.reporting import annotate, guard_text  # noqa: PLC0415

    if as_json:
        say(to_json(report))
        return
    found, under = [item.diagnostic() for item in diagnostics], find_under(folder)
    texts = [*map(printable, filter(None, lines))]
    texts += [render(found, "text", folder=under)] if found else []
    say("\n".join(filter(None, (
        guard_text(run, "\n".join(texts)), annotate(run, found, folder=under)
    ))))  # fmt: skip


def read_job(*, base: str = "", commit: str = "") -> CiRun:
    """Return the run of this job. Raises as `bbops.interfaces.ci.run.read_run`."""
    from bbops.interfaces.ci.run import read_run  # noqa: PLC0415 - after --help

    return read_run(os.environ, base=base, commit=commit)


def find_under(folder: Path) -> str:
    """Return a folder relative to the root of its repository; empty for the root."""
    from bbops.source.git.comparing import find_around  # noqa: PLC0415 - after --help

    around = find_around(folder)
    return around[1] if around else ""


def clear_earlier_result(name: str, folder: Path, results: Path | None) -> None:
    """Delete an earlier result of a command, which may fail before it has a new one."""
    from bbops.interfaces.ci.results import clear_result, results_folder  # noqa: PLC0415 - after --help

    clear_result(results_folder(read_job(), folder, find_under(folder), results), name)


def to_json(value: Any) -> str:
    """Return JSON in which the runner of GitHub finds no command."""
    import msgspec  # noqa: PLC0415 - after --help

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return text.replace("##[", "#\\u0023[")
