"""Create a project: a git repository with accounts and notes.

The template is the folder `project-template/`.
"""

from __future__ import annotations

import json
import re
import shlex
from itertools import chain
from pathlib import Path
from typing import Any

import click

from bbops.base.assets import read_template
from bbops.base.console import say
from bbops.base.errors import BbopsError
from bbops.interfaces.cli._command_group import examples

MESSAGE = "Start the project"
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_LONGEST_NAME = 63
_FORGES = {"github": (".github/",), "gitlab": (".gitlab-ci.yml",)}
"""The template's files for the CI of each forge."""
_NO_FORGE = "none"
_RUN_GITHUB_FILES = ("gitea", "forgejo")
_IN_EVERY_PROJECT = (
    ".gitignore", ".vscode/", ".agents/", "AGENTS.md", *chain.from_iterable(_FORGES.values()),
)  # fmt: skip
"""Files of the template that are in every project, besides project.yaml."""
_FIRST_STEP = ("edit, then git commit", "functions/notes/create.yaml is a good place to start")
_FIRST_STEP_EMPTY = ("bbops new table notes", "add a first resource; then edit, and git commit")
_NAME_LINE = re.compile(rb"^name:.*$", re.MULTILINE)
# Words that some YAML parsers do not read as text.
_YAML_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


class _ForgeChoice(click.Choice[str]):
    """A forge whose CI gets a file; Gitea and Forgejo run the file of GitHub."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:  # fmt: skip
        """Return a forge. Raises: BbopsError: Gitea or Forgejo is given."""
        if value in _RUN_GITHUB_FILES:
            raise BbopsError(
                f"'{value}' is not a value of '--forge': it runs the workflow of 'github'",
                hint=f"'--forge github'; docs/ci.md says how {value.title()} publishes",
            )
        return super().convert(value, param, ctx)


@examples("bbops init my-backend", "bbops init services/shop --empty --forge gitlab")
@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--name", help="The project's name; made from DIR if not given.")
@click.option("--empty", is_flag=True, help="Leave out accounts, notes and uploads.")
@click.option(
    "--forge", type=_ForgeChoice([*_FORGES, _NO_FORGE]), default="github", show_default=True,
    help="Whose CI checks pull requests and publishes main; 'github' for Gitea and Forgejo, too.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    folder: Path, name: str | None, forge: str, *, empty: bool, as_json: bool
) -> None:  # fmt: skip
    """Create a project in the new folder DIR: a git repository with accounts and notes.

    It has one commit on the branch main. DIR may exist if it is empty. With --empty, the project
    has its name, and the files for editors and coding agents, but no tables, functions or
    endpoints.

    A workflow for GitHub, Gitea and Forgejo checks every pull request and publishes main
    (docs/ci.md); --forge gitlab writes .gitlab-ci.yml instead, and --forge none writes neither.
    """
    require_empty(folder)
    chosen = slug(folder.resolve().name) if name is None else _checked(name)
    files = empty_files(chosen, forge) if empty else template_files(chosen, forge)
    from bbops.source.git.store import init  # noqa: PLC0415 - git only where it is needed

    commit = init(folder, files, message=MESSAGE)
    created = {"path": str(folder.resolve()), "name": chosen, "branch": "main", "commit": commit}
    if as_json:
        say(json.dumps({**created, "files": sorted(files)}, indent=2))
        return
    first = _FIRST_STEP_EMPTY if empty else _FIRST_STEP
    say(_next_steps(folder, chosen, first))


def require_empty(folder: Path) -> None:
    """Check that a project can be created in a folder.

    Raises:
        BbopsError: the folder is not empty, or is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise BbopsError(f"'{folder}' is a file, expected a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise BbopsError(f"folder '{folder}' is not empty", hint="choose a new or an empty folder")


def template_files(name: str, forge: str = _NO_FORGE) -> dict[str, bytes]:
    """Return the files of a new project, with its name in project.yaml.

    Args:
        name: the project's name.
        forge: the forge whose CI gets a file: `github`, `gitlab` or `none`.
    """
    others = tuple(chain.from_iterable(_FORGES[other] for other in _FORGES if other != forge))
    template = read_template()
    files = {path: data for path, data in template.items() if not path.startswith(others)}
    files["project.yaml"] = rename(files["project.yaml"], name)
    return files


def empty_files(name: str, forge: str = _NO_FORGE) -> dict[str, bytes]:
    """Return the files of a project without resources: its name, files for editors, agents and CI.

    The README of the template describes accounts and notes, so it is left out. `forge` is as in
    `template_files`.
    """
    kept = {path: text for path, text in template_files(name, forge).items()
            if path.startswith(_IN_EVERY_PROJECT)}  # fmt: skip
    return {**kept, "project.yaml": rename(b"bbops: 1\nname: my-backend\n", name)}


def rename(project_yaml: bytes, name: str) -> bytes:
    """Return project.yaml with another name; every other line stays the same."""
    value = f'"{name}"' if name in _YAML_WORDS else name
    return _NAME_LINE.sub(b"name: " + value.encode(), project_yaml, count=1)


def slug(text: str) -> str:
    """Return a valid project name that is similar to a text."""
    if _NAME.fullmatch(text) and len(text) <= _LONGEST_NAME:
        return text
    from anyascii import anyascii  # noqa: PLC0415 - rarely needed

    words = re.findall("[a-z0-9]+", anyascii(text).lower())
    name = "-".join(words).lstrip("-0123456789")[:_LONGEST_NAME].rstrip("-")
    return name or "my-backend"


def _checked(name: str) -> str:
    if slug(name) != name:
        raise BbopsError(
            f"'{name}' is not a valid project name, expected lower-case kebab-case",
            hint=f"for example '{slug(name)}'",
        )
    return name


def _next_steps(folder: Path, name: str, first: tuple[str, str]) -> str:
    steps = [
        ("bbops dev", "run it, and see every change as you save it"),
        ("bbops serve", "run what is committed; a commit on main changes it"),
        first,
    ]
    widest = max(len(step) for step, _ in steps)
    lines = [f"  {step.ljust(widest)}  {why}" for step, why in steps]
    if folder.resolve() != Path.cwd().resolve():
        lines.insert(0, f"  cd {shlex.quote(str(folder))}")
    return "\n".join([f"created project '{name}' in '{folder}'", "", "next:", *lines])
