"""Each command's help shows how it is typed: examples parse, and those that can run here do."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bbops.interfaces.cli._command_group import examples_of
from bbops.interfaces.cli._local_project import CHANGED_EXIT_CODE, CompareCommand
from bbops.interfaces.cli._root_group import RootGroup
from bbops.interfaces.cli.init import template_files
from bbops.source.git import store
from tests.support.served import git

ELSEWHERE = {"server", "state", "no_browser", "writes", "stdio", "comment"}
"""Parameters of commands that need more than a project: a server, a browser, a model, an editor, a
CI job."""


def walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    """Yield each command that can be typed, with the words that lead to it."""
    if path:
        yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from walk(inner, (*path, name))


COMMANDS = dict(walk(RootGroup("bbops"), ()))
EXAMPLES = [(path, line) for path, one in COMMANDS.items() for line in examples_of(one)]
HERE = [
    (path, line) for path, line in EXAMPLES
    if not isinstance(COMMANDS[path], click.Group)
    and ELSEWHERE.isdisjoint(one.name for one in COMMANDS[path].params)
]  # fmt: skip


def parse(line: str) -> click.Context:
    """Read a command line as the program does, and return the context of its last command."""
    program, *words = shlex.split(line)
    assert program == "bbops"
    command: click.Command = RootGroup("bbops")
    context = command.make_context("bbops", words)
    while isinstance(command, click.Group):
        name, *words = [*context._protected_args, *context.args]
        _, inner, words = command.resolve_command(context, [name, *words])
        assert inner is not None
        context = inner.make_context(name, words, parent=context)
        command = inner
    return context


@pytest.mark.parametrize("path", COMMANDS)
def test_help_shows_one_or_two_examples(path: str) -> None:
    assert 1 <= len(examples_of(COMMANDS[path])) <= 2
    shown = CliRunner().invoke(RootGroup("bbops"), [*path.split(), "--help"]).stdout
    lines = [line.strip() for line in shown.partition("Examples:")[2].splitlines()]
    assert [line for line in lines if line] == examples_of(COMMANDS[path])


@pytest.mark.parametrize(("path", "line"), EXAMPLES)
def test_an_example_is_of_its_command_and_parses(
    path: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dist").mkdir()
    monkeypatch.chdir(tmp_path)
    meant = parse(line).command_path
    is_of_family = isinstance(COMMANDS[path], click.Group)
    assert meant.startswith(f"bbops {path} ") if is_of_family else meant == f"bbops {path}"


def test_what_is_misspelt_does_not_parse() -> None:
    with pytest.raises(click.UsageError):
        parse("bbops fmt --chekc")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the current folder a project with two versions, and a database to pull beside them.

    One of its tables has routes of its own.
    """
    store.init(tmp_path / "shop", template_files("shop"), message="Start")
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("HOME", str(tmp_path))
    CliRunner().invoke(RootGroup("bbops"), ["new", "table", "tags", "--crud"])
    git(Path(), "add", "-A")
    git(Path(), "commit", "-qm", "Tags")
    git(Path(), "tag", "-am", "The first", "v1")
    Path("README.md").write_text("More\n")
    git(Path(), "commit", "-qam", "Say more")
    git(Path(), "tag", "-am", "The second", "v2")
    with closing(sqlite3.connect("legacy.sqlite")) as connection:
        connection.execute("CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    return Path()


@pytest.mark.long
@pytest.mark.parametrize(("path", "line"), HERE)
def test_an_example_runs_in_a_new_project(project: Path, path: str, line: str) -> None:
    done = CliRunner().invoke(RootGroup("bbops"), shlex.split(line)[1:])
    fine = {0, CHANGED_EXIT_CODE} if isinstance(COMMANDS[path], CompareCommand) else {0}
    assert done.exit_code in fine, done.output
