"""Run the tests of a project, without a server.

Exits with 1 when a case fails.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from bbops.base.console import say, wants_color
from bbops.base.diagnostics import has_errors
from bbops.base.errors import BbopsError, ProjectError
from bbops.base.render import render
from bbops.interfaces.cli._command_group import examples
from bbops.source.tree import FolderTree

_POLL_SECONDS = 0.3


@examples("bbops test", "bbops test 'notes/*' --junit report.xml")
@click.command()
@click.argument("pattern", metavar="[PATTERN]", default="")
@click.option(
    "--path", "folder", default=".", type=click.Path(path_type=Path), metavar="DIR",
    help="The project; the current folder if not given.",
)  # fmt: skip
@click.option("--watch", is_flag=True, help="Run again whenever a file changes.")
@click.option(
    "--junit", metavar="FILE", type=click.Path(path_type=Path), help="Write JUnit XML as well."
)
@click.option(
    "--database-url", metavar="URL", default="",
    help="Run the cases on PostgreSQL, in temporary schemas; by default on SQLite.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the cases as JSON.")
def command(
    pattern: str, folder: Path, *, watch: bool, junit: Path | None, database_url: str, as_json: bool
) -> int:  # fmt: skip
    """Run the tests in tests/**.yaml: all, or those whose name contains PATTERN.

    Each case runs on a fresh database, with a fixed clock and sequential ids. Nothing is sent over
    the network; mocks answer instead. A case is called <file>::<case>; PATTERN can contain '*'.
    Exits with 0 when all pass, with 1 when one fails or the project has errors, with 2 when no case
    has such a name.
    """

    def run_once() -> int:
        return _run(folder, pattern, junit=junit, url=database_url, as_json=as_json)

    return _repeat(folder, run_once) if watch else run_once()


def _run(folder: Path, pattern: str, *, junit: Path | None, url: str, as_json: bool) -> int:
    from bbops.compiler.compile.here import build_here  # noqa: PLC0415 - after the cheap answers
    from bbops.compiler.testing import report  # noqa: PLC0415
    from bbops.compiler.testing.running import Runner, choose  # noqa: PLC0415

    built = build_here(folder, database="postgres" if url else "sqlite")
    if built.project is None or has_errors(built.diagnostics):
        raise ProjectError(built.diagnostics)
    chosen = choose(built.project, pattern)
    if pattern and not chosen:
        raise BbopsError(f"no case matches '{pattern}'", hint="'bbops test' runs all")
    outcomes = []
    with Runner(built, url) as runner:
        for case in chosen:
            outcome = asyncio.run(runner.run(case))
            outcomes.append(outcome)
            if outcome.wrong and not as_json:
                say(_color_head(report.describe(outcome)))
    if junit is not None:
        report.write_junit(junit, outcomes)
    if as_json:
        say(report.as_json(outcomes))
    elif not outcomes:
        say("there are no tests; see docs/language/test.md")
    else:
        say("\n".join([*report.by_file(outcomes), report.summarize(outcomes)]))
    return int(any(outcome.wrong for outcome in outcomes))


def _color_head(text: str) -> str:
    head, _, rest = text.partition("\n")
    return f"{click.style(head, fg='red', bold=True)}\n{rest}"


def _repeat(folder: Path, run_once: Callable[[], int]) -> int:
    """Run again after each change, until it is interrupted."""
    tree, previous = FolderTree(folder), None
    while True:
        current = [(entry.path, entry.blob) for entry in tree.entries()]
        if current != previous:
            previous = current
            try:
                run_once()
            except ProjectError as error:
                say(render(error.diagnostics, "text", color=wants_color(sys.stdout)))
            except BbopsError as error:
                say(f"error: {error.message}")
            say("watching for changes; press Ctrl-C to stop")
        time.sleep(_POLL_SECONDS)  # there is no notification about changed files
