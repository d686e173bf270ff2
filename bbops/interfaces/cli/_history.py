"""What the commands about history share: the repository around a folder, and its project in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
class Here:
    """A project in a repository.

    Attributes:
        under: its folder, empty where it has the repository to itself.
    """

    store: Store
    under: str


def read_own_versions(here: Here, project: str = "") -> tuple[Version, ...]:
    """Return the versions of the project that is meant here, newest first.

    Args:
        here: where.
        project: its name; empty where the folder and the branch that is checked out tell.

    Raises:
        GitError: several may be meant, or the repository cannot be read.
    """
    from bbops.source.git.place import read_head  # noqa: PLC0415 - after --help
    from bbops.source.git.series import choose_versions  # noqa: PLC0415
    from bbops.source.git.versions import read_versions  # noqa: PLC0415

    place = here.store.place
    return choose_versions(
        read_versions(place), here.under, branch=read_head(place), project=project
    )


def find_here(
    folder: Path, *, cannot: str = "it has no history",
    cure: str = "go to the project's folder, or give --path DIR",
) -> Here:  # fmt: skip
    """Return the repository around a folder.

    Args:
        folder: the project's.
        cannot: what follows where there is none.
        cure: of that.

    Raises:
        GitError: there is none.
    """
    from bbops.source.git.base import find_around  # noqa: PLC0415 - after --help
    from bbops.source.git.store import Store  # noqa: PLC0415

    found = find_around(folder)
    if found is not None:
        top, under = found
        return Here(Store.open(top), under)
    raise GitError(f"'{folder}' is in no git repository, so {cannot}", hint=cure)
