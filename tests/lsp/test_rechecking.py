"""After an edit only what it touches is checked again, and the same is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbops.compiler.check import validate
from bbops.compiler.check._flows import CheckedFlow
from bbops.interfaces.lsp.project import EditorProject
from tests.lsp.editing import LIST

EDITS = [
    (LIST, "vars.auth.userId", "vars.auth.nobody"),
    (LIST, "steps:", "steps: ["),
    ("tables/notes.yaml", "title:", "heading:"),
    ("tables/notes.yaml", "columns:", "columns"),
    ("tables/users.yaml", "role:", "rank:"),
    ("project.yaml", "JWT_SECRET", "OTHER_SECRET"),
    ("project.yaml", "secret: true, generate", "secret: false, generate"),
    ("project.yaml", "users: users", "users: notes"),
    ("project.yaml", "auth:", "author:"),
    (LIST, "page: ${ query.page }", "page: ${ env.JWT_SECRET }"),
    (LIST, "page: ${ query.page }", "page: ${ env.PAGE | default('') }"),
    ("project.yaml", "env:\n", "env:\n  PAGE: { default: '1' }\n"),
    ("project.yaml", "  expiresIn: 24h", "  expiresIn: 2h"),
    ("channels/notes-v1.yaml", "JWT", "None"),
    ("endpoints/notes/update.yaml", ":id", ":other"),
    ("functions/middleware/signed-in.yaml", "steps:", "query: { a: string }\nsteps:"),
]


@pytest.mark.long
def test_what_is_reused_after_an_edit_is_what_a_whole_check_finds(project: Path) -> None:
    folder = EditorProject.at(project)
    folder.refresh()
    for path, old, new in [*EDITS, *reversed(EDITS)]:
        text = folder.source(path)
        folder.files.put(path, text.replace(old, new) if old in text else text.replace(new, old))
        found = {one for group in folder.refresh().values() for one in group}
        assert found == set(validate(folder.files)[1]), (path, new)


def test_an_edit_of_one_function_leaves_the_results_of_others(project: Path) -> None:
    folder = EditorProject.at(project)
    folder.refresh()
    before = flows_of(folder)
    folder.files.put(LIST, folder.source(LIST) + "# more\n")
    folder.refresh()
    after = flows_of(folder)
    assert {name for name in after if after[name] is not before[name]} == {"notes/list"}


SETTINGS = [
    ("Accounts and notes", "Notes and accounts", set()),
    ("expiresIn: 24h", "expiresIn: 2h", set()),
    ("env:\n", "env:\n  MORE: { default: '1' }\n", {"notes/list"}),
]


@pytest.mark.parametrize(("old", "new", "touched"), SETTINGS, ids=str)
def test_an_edit_of_the_settings_leaves_what_does_not_read_them(
    project: Path, old: str, new: str, touched: set[str]
) -> None:
    folder = EditorProject.at(project)
    settings = folder.source("project.yaml").replace("env:", "env:\n  PAGE: { default: '1' }")
    folder.files.put("project.yaml", settings)
    folder.files.put(
        LIST, folder.source(LIST).replace("page: ${ query.page }", "page: ${ env.PAGE }")
    )
    assert folder.refresh() == {}
    before = flows_of(folder)
    folder.files.put("project.yaml", settings.replace(old, new))
    folder.refresh()
    after = flows_of(folder)
    assert {name for name in after if after[name] is not before[name]} == touched


def flows_of(folder: EditorProject) -> dict[str, CheckedFlow]:
    assert folder.project is not None
    return {name: folder.project.flows.of(name) for name in folder.project.functions}
