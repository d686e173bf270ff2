"""Say what a change will do: contract breaks, loosened access, lost data, routes.

Exits with 0 when nothing changes, with 2 when something does, with 1 when it cannot be said.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from bbops.cli._comparing import CHANGES, Comparing
from bbops.cli._history import find_here
from bbops.cli.validate import require_project
from bbops.console import say, wants_color
from bbops.diagnostics import has_errors
from bbops.errors import BbopsError, GitError, ProjectError

if TYPE_CHECKING:
    from bbops.check import Cache
    from bbops.git.store import Store
    from bbops.plan.document import Document
    from bbops.plan.plan import Plan
    from bbops.project import Project
    from bbops.tree import Tree

MAIN = "main"
_MOST_BYTES = 16 << 20
_FORMS = ("text", "markdown", "json")


@click.command(cls=Comparing)
@click.argument("revisions", metavar="[A..B]", default="")
@click.option(
    "--against", metavar="REV", default="",
    help="What this folder is compared with; the branch main if not given.",
)  # fmt: skip
@click.option(
    "--path", "folder", default=".", type=click.Path(path_type=Path), metavar="DIR",
    help="The project; the current folder if not given.",
)  # fmt: skip
@click.option(
    "--rows", metavar="FILE", type=click.File("rb"),
    help="What 'bbops db plan --json' printed; '-' reads it from a pipe.",
)  # fmt: skip
@click.option(
    "form", "--format", type=click.Choice(_FORMS), default="text", show_default=True,
    help="How to print the plan.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def command(
    revisions: str, against: str, folder: Path, rows: IO[bytes] | None, form: str, *, as_json: bool
) -> int:
    """Say what the change of this folder, or from commit A to B, will do.

    The folder is compared with the branch main as it is committed here (without one, with
    origin/main); on main itself, with what is committed. A and B are branches, tags or commits:
    'bbops plan v1..v2'. Nothing is checked out, and nothing changes.

    It says which clients break, where access is loosened, what becomes of data and routes, and what
    a review takes by the rules of the old project. Which rows are touched is known to the database
    alone: 'bbops db plan --json | bbops plan --rows -'.

    Exits with 0 when nothing changes, with 2 when something does, and with 1 when it cannot be
    said: a project has errors, a revision is unknown.
    """
    base, head = _trees(folder, revisions, against)
    document = _document(base, head, rows)
    say(_rendered(document, "json" if as_json else form))
    return CHANGES if document.changes else 0


def _rendered(document: Document, form: str) -> str:
    if form == "json":
        from bbops.plan.document import encode  # noqa: PLC0415 - only for this

        return json.dumps(encode(document), indent=2, ensure_ascii=False)
    if form == "markdown":
        from bbops.plan.render.markdown import render_markdown  # noqa: PLC0415 - only for this

        return render_markdown(document).rstrip("\n")
    from bbops.plan.render.text import render_text  # noqa: PLC0415 - only for this

    return render_text(document, color=wants_color(sys.stdout))


def _document(base: Tree, head: Tree, rows: IO[bytes] | None) -> Document:
    from bbops.check import Cache  # noqa: PLC0415 - after --help
    from bbops.plan.document import describe  # noqa: PLC0415
    from bbops.plan.plan import plan  # noqa: PLC0415

    cache = Cache()
    found = plan(_project(base, cache), _project(head, cache))
    fingerprint = ""
    if rows is not None:
        found, fingerprint = _completed(found, rows)
    return describe(found, base, head, fingerprint)


def _completed(found: Plan, rows: IO[bytes]) -> tuple[Plan, str]:
    from bbops.plan.live import complete, read_answer  # noqa: PLC0415 - only for this

    answer = read_answer(rows.read(_MOST_BYTES))
    return complete(found, answer), answer.hash or ""


def _project(tree: Tree, cache: Cache) -> Project:
    """Return the project of a tree.

    Raises:
        ProjectError: it has mistakes.
    """
    from bbops.check import validate  # noqa: PLC0415 - after --help

    project, found = validate(tree, cache)
    if project is None or has_errors(found):
        from bbops.plan.render.words import revision  # noqa: PLC0415 - only for this

        click.echo(f"{revision(tree.revision)} has mistakes, so nothing can be compared:", err=True)
        raise ProjectError(found)
    return project


# ---- what is compared
def _trees(folder: Path, revisions: str, against: str) -> tuple[Tree, Tree]:
    from bbops.tree import FolderTree  # noqa: PLC0415 - after --help

    base, dots, head = revisions.partition("..")
    if revisions and (not dots or against or not base or not head or head.startswith(".")):
        hint = f"bbops plan --against {revisions}" if not dots else "bbops plan A..B"
        raise BbopsError(f"expected two revisions 'A..B', got '{revisions}'", hint=hint)
    if not revisions:
        require_project(folder)
    here = find_here(
        folder, cannot="there is nothing to compare it with",
        cure="'git init', then commit what is there now",
    )  # fmt: skip
    store, under = here.store, here.under
    if revisions:
        return _tree(store, base, under), _tree(store, head, under)
    return _tree(store, against or _main(store), under), FolderTree(folder)


def _main(store: Store) -> str:
    names = (MAIN, f"origin/{MAIN}")
    return next((name for name in names if store.find_commit(name)), MAIN)


def _tree(store: Store, revision: str, under: str) -> Tree:
    from bbops.git.tree import GitTree  # noqa: PLC0415 - after --help

    commit = store.resolve(revision) or store.find_commit(revision)
    if commit is None:
        raise GitError(
            f"there is no branch, tag or commit '{revision}'",
            hint="name another: 'bbops plan --against REV' or 'bbops plan A..B'",
        )
    return GitTree(store, commit, branch=revision, under=under)
