"""Show the effects of a change: contract breaks, loosened access, lost data, routes.

Exit codes: 0 without changes, 2 with changes, 1 if the changes cannot be determined.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from bbops.base.console import say, wants_color
from bbops.base.diagnostics import has_errors
from bbops.base.errors import BbopsError, GitError, ProjectError
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._local_project import (
    CHANGED_EXIT_CODE,
    CompareCommand,
    LocalProject,
    find_local_project,
    read_own_versions,
)
from bbops.interfaces.cli._server import of_server, open_remote
from bbops.interfaces.cli.validate import require_project
from bbops.source.tree import FolderTree

if TYPE_CHECKING:
    from bbops.compiler.check import Cache, CheckedProject
    from bbops.language.project import Project
    from bbops.review.plan.plan import Document
    from bbops.source.git.store import Store
    from bbops.source.tree import Tree

MAIN = "main"
_MAX_BYTES = 16 << 20
_FORMS = ("text", "markdown", "json")
_VERSION = re.compile(r"v[0-9]{1,9}").fullmatch


_ReadLiveData = Callable[["Project"], bytes | Mapping[str, Any]]
"""Returns the live data that a project would change, in the format of `bbops db plan --json`."""


@examples("bbops plan", "bbops plan v1..v2 --format markdown")
@click.command(cls=CompareCommand)
@click.argument("revisions", metavar="[A..B]", default="")
@click.option(
    "--against", metavar="REV", default="",
    help="The revision to compare with; the branch main if not given.",
)  # fmt: skip
@click.option(
    "--path", "folder", default=".", type=click.Path(path_type=Path), metavar="DIR",
    help="The project; the current folder if not given.",
)  # fmt: skip
@click.option(
    "--rows", metavar="FILE", type=click.File("rb"),
    help="The output of 'bbops db plan --json'; '-' reads it from a pipe.",
)  # fmt: skip
@click.option(
    "--live",
    is_flag=True,
    help="Ask the running server which rows are affected, and which env values are missing.",
)
@click.option(
    "--project", metavar="NAME", default="",
    help="The project's name on the server; its own name if not given.",
)  # fmt: skip
@of_server
@click.option(
    "form", "--format", type=click.Choice(_FORMS), default="text", show_default=True,
    help="The output format.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
def command(
    revisions: str, against: str, folder: Path, rows: IO[bytes] | None, project: str, server: str,
    form: str, *, live: bool, as_json: bool,
) -> int:  # fmt: skip
    """Show what the changes in this folder, or from commit A to B, will do.

    The folder is compared with the branch main as it is committed here (without one, with
    origin/main); on main itself, with the last commit. A and B are branches, tags or commits:
    'bbops plan v1..v2'. Nothing is checked out, and nothing changes.

    It shows which clients break, where access is loosened, what happens to data and routes, and
    what the old project's rules require of a review. Only the server knows which rows are affected
    and which env values are missing: --live asks it, sending only tables and names of variables.
    Next to the server's state folder, the same works without the server:
    'bbops db plan --json | bbops plan --rows -'.

    Exits with 0 when nothing changes, with 2 when something does, and with 1 when it cannot be
    determined: a project has errors, a revision is unknown.
    """
    base, head = _trees(folder, revisions, against, project)
    if rows is not None and live:
        raise BbopsError("'--live' and '--rows' exclude each other", hint="use one of them")
    read_live_data = None
    if rows is not None:
        read_live_data = _from_file(rows)
    elif live:
        read_live_data = _from_server(server, project)
    document = _document(base, head, read_live_data)
    say(_render(document, "json" if as_json else form))
    return CHANGED_EXIT_CODE if document.changes else 0


def _render(document: Document, form: str) -> str:
    if form == "json":
        from bbops.review.plan.plan import encode  # noqa: PLC0415 - only for this

        return json.dumps(encode(document), indent=2, ensure_ascii=False)
    if form == "markdown":
        from bbops.review.plan.render.markdown import render_markdown  # noqa: PLC0415 - only for this

        return render_markdown(document).rstrip("\n")
    from bbops.review.plan.render.text import render_text  # noqa: PLC0415 - only for this

    return render_text(document, color=wants_color(sys.stdout))


def _document(base: Tree, head: Tree, read_live_data: _ReadLiveData | None) -> Document:
    from bbops.compiler.check import Cache  # noqa: PLC0415 - after --help
    from bbops.review.plan.plan import describe, plan  # noqa: PLC0415
    from bbops.runtime.work.engine import now_ms  # noqa: PLC0415

    cache = Cache()
    before, after = _project(base, cache, base), _project(head, cache, base)
    if read_live_data is None:
        return describe(plan(before, after, now=now_ms()), base, head)
    from bbops.review.plan.live import complete, read_answer  # noqa: PLC0415 - only for this

    answer = read_answer(read_live_data(after))
    changes = plan(before, after, values=answer.env, now=now_ms())
    return describe(complete(changes, answer), base, head)


def _from_file(rows: IO[bytes]) -> _ReadLiveData:
    return lambda _: rows.read(_MAX_BYTES)


def _from_server(server: str, name: str) -> _ReadLiveData:
    def read(project: Project) -> bytes | Mapping[str, Any]:
        from bbops.review.plan.live import read_question  # noqa: PLC0415 - only for this

        question = read_question(project)
        with open_remote(server) as remote:
            chosen = name or remote.likely_project(project.settings.model.name)
            return remote.plan_live_data(chosen, question.tables, question.env)

    return read


def _project(tree: Tree, cache: Cache, base: Tree) -> CheckedProject:
    """Return the checked project of a tree, as a change of the project in `base`.

    Raises:
        ProjectError: it has errors.
    """
    from bbops.compiler.check import validate  # noqa: PLC0415 - after --help

    project, diagnostics = validate(tree, cache, base=base)
    if project is None or has_errors(diagnostics):
        from bbops.review.plan.render.phrases import revision  # noqa: PLC0415 - only for this

        message = f"{revision(tree.revision)} has errors, so nothing can be compared:"
        click.echo(message, err=True)
        raise ProjectError(diagnostics)
    return project


# ---- the two trees to compare
def _trees(folder: Path, revisions: str, against: str, project: str) -> tuple[Tree, Tree]:
    base, dots, head = revisions.partition("..")
    if revisions and (not dots or against or not base or not head or head.startswith(".")):
        hint = f"bbops plan --against {revisions}" if not dots else "bbops plan A..B"
        raise BbopsError(f"expected two revisions 'A..B', got '{revisions}'", hint=hint)
    if not revisions:
        require_project(folder)
    local = find_local_project(
        folder, cannot="there is nothing to compare it with",
        hint="'git init', then commit the current files",
    )  # fmt: skip
    if revisions:
        return _tree(local, base, project), _tree(local, head, project)
    return _tree(local, against or _main(local.store), project), FolderTree(folder)


def _main(store: Store) -> str:
    names = (MAIN, f"origin/{MAIN}")
    return next((name for name in names if store.find_commit(name)), MAIN)


def _tree(local: LocalProject, revision: str, project: str) -> Tree:
    from bbops.source.git.store import GitTree  # noqa: PLC0415 - after --help

    store, version = local.store, _find_version(local, revision, project)
    commit = version or store.resolve(revision) or store.find_commit(revision)
    if commit is None:
        raise GitError(
            f"there is no branch, tag or commit '{revision}'",
            hint="choose another: 'bbops plan --against REV' or 'bbops plan A..B'",
        )
    return GitTree(store, commit, branch=revision, under=local.under)


def _find_version(local: LocalProject, revision: str, project: str) -> str:
    """Return the commit of a version such as v7; empty for other revisions, even a tag named v7."""
    if not _VERSION(revision):
        return ""
    known = read_own_versions(local, project)
    return next((version.commit for version in known if version.short == revision), "")
