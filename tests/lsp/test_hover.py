"""What `bbops lsp` says of the thing under the mouse."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pydantic import BaseModel

from bbops.interfaces.lsp.hover import about_key
from bbops.interfaces.lsp.schema import SchemaNode, field_schema, fields
from bbops.language.loading.load import kinds
from bbops.language.steps._base import step_kinds
from tests.conftest import ROOT
from tests.lsp.editing import ENDPOINT, LIST, LOGIN, NOTES, Client, edit, typed

HOVERS = [
    (LOGIN, "vars.us¦er.id", ["user: map  (table 'users')", "password_hash: text  (private)"]),
    (LOGIN, "vars.user.i¦d", ["id: text", "`users.id` — type: uuid, primaryKey: true"]),
    (LOGIN, "lo¦wer", ["text | lower → text", "small letters", "'Ada' | lower"]),
    (LOGIN, "table: us¦ers", ["`tables/users.yaml`", "sign in"]),
    (LIST, "done =¦= query.done", ["boolean", "any value == the same type", "`1 == 1.0`"]),
    (LIST, "query.done == null o¦r", ["boolean or boolean → boolean", "1 > 2 or 2 < 3"]),
    (LIST, "done?: boo¦lean", ["boolean: JSON true or false", "`INTEGER` on SQLite"]),
    (NOTES, "type: da¦tetime", ["datetime: text in ISO 8601", "`timestamp with time zone`"]),
    (LIST, "or¦derBy", ["`orderBy`", "relation.column.desc"]),
    (LIST, "ti¦tle", ["`notes.title`", "maxLength: 120"]),
    (LIST, "fi¦nd", ["Give a list of rows", "```yaml"]),
    (LIST, "query.pa¦ge", ["page: integer"]),
    (ENDPOINT, "meth¦od", ["`GET`, `POST`"]),
    (ENDPOINT, "notes/l¦ist", ["newest first"]),
    (NOTES, "onDel¦ete", ["restrict"]),
]


@pytest.mark.long
def test_hovering_says_what_it_is(project: Path) -> None:
    async def test(editor: Client) -> None:
        for path, at, wanted in HOVERS:
            place = typed(editor, path, at.replace("¦", ""), at)
            params = lsp.HoverParams(editor.document(path), place)
            found = await editor.client.text_document_hover_async(params)
            assert found is not None, at
            assert isinstance(found.contents, lsp.MarkupContent)
            assert [text for text in wanted if text not in found.contents.value] == [], at

    edit(project, test)


REPORT = """
steps:
  - find:
      table: notes
      aggregate:
        groupBy:
          who: user.email
          month: created_at | startOf('month', 'Europe/Berlin')
        values: { n: count(done), last: max(created_at) }
        having: n > 3
      orderBy: n.desc
    as: groups
  - find:
      table: users
      select: { id: id, newest: { find: { relation: notes, where: done, select: [title] } } }
    as: users
  - return: { value: { groups: "${ vars.groups }", users: "${ vars.users }" } }
"""
REPORTS = [
    ("group¦By", ["`groupBy`", "names with expressions"]),
    ("hav¦ing", ["`having`", "A condition that selects groups"]),
    ("user.em¦ail", ["email: text", "`users.email`"]),
    ("start¦Of", ["startOf(unit: text, zone?: text)"]),
    ("cou¦nt(done", ["count(condition?) → integer"]),
    ("ma¦x(", ["max(x, condition?)"]),
    ("having: n¦", ["n: integer"]),
    ("rela¦tion", ["`relation`", "whose rows are listed"]),
    ("where: do¦ne", ["done: boolean"]),
]


@pytest.mark.long
def test_hovering_explains_reports(project: Path) -> None:
    async def test(editor: Client) -> None:
        editor.show(LIST, REPORT)
        for at, wanted in REPORTS:
            place = typed(editor, LIST, at.replace("¦", ""), at)
            params = lsp.HoverParams(editor.document(LIST), place)
            found = await editor.client.text_document_hover_async(params)
            assert found is not None, at
            assert isinstance(found.contents, lsp.MarkupContent)
            shown = found.contents.value
            assert [text for text in wanted if text not in shown] == [], (at, shown)

    (project / LIST).write_text(REPORT)
    edit(project, test)


TRIGGER = "triggers/note-done.yaml"
TOPIC = "realtime/my-notes.yaml"
OUTSIDE = [
    (TRIGGER, "newRow.do¦ne", ["done: boolean", "`notes.done`"]),
    (TRIGGER, "new¦Row", ["newRow: map  (table 'notes')", "title: text"]),
    (TRIGGER, "old¦Row", ["oldRow: map", "created_at: datetime"]),
    (TOPIC, "params.user¦Id", ["userId: text"]),
    (TOPIC, "vars.auth.us¦erId", ["userId: text"]),
    (TOPIC, "vars.me.ro¦le", ["role: text", "`users.role`"]),
    ("tests/notes/create.yaml", "len¦gth", ["or map | length(row => test?) → integer"]),
]


@pytest.mark.long
def test_what_stands_outside_functions_has_types_too(tmp_path: Path) -> None:
    root = Path(shutil.copytree(ROOT / "docs/example", tmp_path.resolve() / "example"))
    shutil.copytree(ROOT / "docs/upcoming", root, dirs_exist_ok=True)
    topic = (root / TOPIC).read_text().replace("subscribe: ", "subscribe: vars.me.role != '' and ")
    (root / TOPIC).write_text(topic + "middleware: [users/must-exist]\n")

    async def test(editor: Client) -> None:
        for path, at, wanted in OUTSIDE:
            place = typed(editor, path, at.replace("¦", ""), at)
            params = lsp.HoverParams(editor.document(path), place)
            found = await editor.client.text_document_hover_async(params)
            assert found is not None, at
            assert isinstance(found.contents, lsp.MarkupContent)
            text = found.contents.value
            assert [one for one in wanted if one not in text] == [], (at, text)

    edit(root, test)


def test_every_key_of_the_language_is_explained() -> None:
    seen: set[type[BaseModel]] = set()
    models: list[type[BaseModel]] = [*kinds().values(), *step_kinds().values()]
    unexplained = []
    while models:
        model = models.pop()
        if model in seen:
            continue
        seen.add(model)
        for key in fields(model):
            unexplained += [] if about_key(model, key) else [f"{model.__name__}.{key}"]
            models += models_in(field_schema(model, key))
    assert unexplained == []


def models_in(slot: SchemaNode) -> list[type[BaseModel]]:
    inner = [slot.member({}, 0), slot.member({}, "any")] if slot.model is None else []
    return [one.model for one in (slot, *inner) if one.model is not None]
