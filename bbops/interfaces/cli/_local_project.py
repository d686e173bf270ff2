"""The repository and versions of a local project, and the class of commands that compare."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bbops.base.errors import GitError

if TYPE_CHECKING:
    from bbops.source.git.series import Version
    from bbops.source.git.store import Store


project_option = click.option(
    "--project",
    default="",
    metavar="NAME",
    help="The project, if this repository has versions of several.",
)

path_option = click.option(
    "--path", "folder", default=".", type=click.Path(path_type=Path), metavar="DIR",
    help="The project; the current folder if not given.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LocalProject:
    """A project in a local repository.

    Attributes:
        under: its folder; empty if the project is the whole repository.
    """

    store: Store
    under: str


def read_own_versions(local: LocalProject, project: str = "") -> tuple[Version, ...]:
    """Return the versions of a project, newest first.

    Args:
        local: the repository and the folder.
        project: its name; empty to choose it by the folder and the checked-out branch.

    Raises:
        GitError: several projects match, or the repository cannot be read.
    """
    from bbops.source.git.numbered_tags import read_versions  # noqa: PLC0415
    from bbops.source.git.place import read_head  # noqa: PLC0415 - after --help
    from bbops.source.git.series import choose_versions  # noqa: PLC0415

    place = local.store.place
    return choose_versions(
        read_versions(place), local.under, branch=read_head(place), project=project
    )


def find_local_project(
    folder: Path, *, cannot: str = "it has no history",
    hint: str = "go to the project's folder, or give --path DIR",
) -> LocalProject:  # fmt: skip
    """Return the repository around a folder.

    Args:
        folder: the project's folder.
        cannot: the end of the message if there is no repository.
        hint: the hint of that message.

    Raises:
        GitError: there is no repository.
    """
    from bbops.source.git.comparing import find_around  # noqa: PLC0415 - after --help
    from bbops.source.git.store import Store  # noqa: PLC0415

    repository = find_around(folder)
    if repository is not None:
        top, under = repository
        return LocalProject(Store.open(top), under)
    raise GitError(f"'{folder}' is in no git repository, so {cannot}", hint=hint)


# ---- commands that compare; exit codes: 0 without changes, 2 with changes, 1 after a failure

CHANGED_EXIT_CODE = 2

NO_RECORDINGS = (
    "nothing to replay: no recorded request has its response",
    "    hint: write 'history: full' in an endpoint's file; its requests are recorded from then on",
)
"""Lines for a project without recorded requests, or whose endpoints record no responses."""


@contextmanager
def _exiting_with_1() -> Iterator[None]:
    """Make every failure exit with 1: 2 stands for changes."""
    try:
        yield
    except click.exceptions.Exit:
        raise
    except Exception as error:
        error.exit_code = 1  # type: ignore[attr-defined]
        raise


class CompareCommand(click.Command):
    """A command whose failures exit with 1."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the arguments."""
        with _exiting_with_1():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _exiting_with_1():
            return super().invoke(ctx)
