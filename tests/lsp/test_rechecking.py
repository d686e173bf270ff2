"""After an edit only what it touches is checked again, and the same is found."""

from __future__ import annotations

from pathlib import Path

from bbops.check import validate
from bbops.check.flows import CheckedFlow, check_flow
from bbops.lsp.folder import Folder
from tests.lsp.editing import (
    LIST,
)

EDITS = [
    (LIST, "vars.auth.userId", "vars.auth.nobody"),
    (LIST, "steps:", "steps: ["),
    ("tables/notes.yaml", "title:", "heading:"),
    ("tables/notes.yaml", "columns:", "columns"),
    ("tables/users.yaml", "role:", "rank:"),
    ("project.yaml", "JWT_SECRET", "OTHER_SECRET"),
    ("channels/notes-v1.yaml", "JWT", "None"),
    ("endpoints/notes/update.yaml", ":id", ":other"),
    ("functions/middleware/signed-in.yaml", "steps:", "query: { a: string }\nsteps:"),
]


def test_what_is_reused_after_an_edit_is_what_a_whole_check_finds(project: Path) -> None:
    folder = Folder.at(project)
    folder.refresh()
    for path, old, new in [*EDITS, *reversed(EDITS)]:
        text = folder.source(path)
        folder.files.put(path, text.replace(old, new) if old in text else text.replace(new, old))
        found = {one for group in folder.refresh().values() for one in group}
        assert found == set(validate(folder.files)[1]), (path, new)


def test_an_edit_of_one_function_leaves_the_results_of_others(project: Path) -> None:
    folder = Folder.at(project)
    folder.refresh()
    before = flows_of(folder)
    folder.files.put(LIST, folder.source(LIST) + "# more\n")
    folder.refresh()
    after = flows_of(folder)
    assert {name for name in after if after[name] is not before[name]} == {"notes/list"}


def flows_of(folder: Folder) -> dict[str, CheckedFlow]:
    assert folder.project is not None
    return {name: check_flow(folder.project, name) for name in folder.project.functions}
