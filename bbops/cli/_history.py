"""What the commands about history share: the repository around a folder, and its project in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bbops.errors import GitError

if TYPE_CHECKING:
    from bbops.git.store import Store

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
    from bbops.git.base import find_around  # noqa: PLC0415 - after --help
    from bbops.git.store import Store  # noqa: PLC0415

    found = find_around(folder)
    if found is not None:
        top, under = found
        return Here(Store.open(top), under)
    raise GitError(f"'{folder}' is in no git repository, so {cannot}", hint=cure)
