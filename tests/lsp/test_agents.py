"""Agents in an editor: tools in both forms, and expressions of starts and approvals."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.lsp.editing import LIST, Client, edit, typed

pytestmark = pytest.mark.long

HELPER = "agents/helper.yaml"
TOPIC = "realtime/news.yaml"
FILES = {
    "addons/aiModel.yaml": 'enabled: true\nconfig: { apiKey: "${ env.JWT_SECRET }" }\n',
    TOPIC: "topic: news\nauthentication: None\nevents:\n  item.added: { title: string }\n",
    HELPER: """description: Helps.
model: { addon: aiModel, name: gpt-large }
instructions: Help.
tools:
  - notes/list
  - { function: notes/get, approval: args.id != null }
runsOn:
  chat: { authentication: JWT }
  realtime: { topic: news, event: item.added, where: event.payload.title != 'x' }
memory: { messages: 3 }
""",
}

COMPLETIONS = [
    ("  - notes/list", "  - notes/¦", {"notes/list", "auth/login"}, {"notes-v1"}),
    ("function: notes/get", "function: ¦", {"notes/get", "notes/list"}, {"news"}),
    ("{ function: notes/get, ", "{ function: notes/get, ¦ ", {"approval"}, {"function"}),
    ("approval: args.id != null", "approval: ¦", {"args"}, {"event"}),
    ("approval: args.id != null", "approval: args.¦", {"id"}, {"title"}),
    ("topic: news", "topic: ¦", {"news"}, {"notes/list"}),
    ("event.payload.title", "event.payload.¦", {"title"}, {"id"}),
    ("memory: { messages: 3 }", "memory: { ¦ }", {"for", "messages"}, {"tools"}),
    ("memory:", "lim¦\nmemory:", {"limits", "onDead", "renamedFrom"}, {"memory"}),
]


@pytest.fixture
def agents(project: Path) -> Path:
    """A project with an agent that has a tool in each form."""
    for path, text in FILES.items():
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).write_text(text)
    return project


def test_completion_offers_tools_arguments_and_events(agents: Path) -> None:
    async def test(editor: Client) -> None:
        for old, new, offered, others in COMPLETIONS:
            place = typed(editor, HELPER, old, new)
            params = lsp.CompletionParams(editor.document(HELPER), place)
            found = await editor.client.text_document_completion_async(params)
            items = found.items if isinstance(found, lsp.CompletionList) else found or ()
            labels = {item.label for item in items}
            assert offered <= labels, (new, labels)
            assert not others & labels, (new, labels)

    edit(agents, test)


@pytest.mark.parametrize(
    ("at", "target"),
    [
        ("  - notes/l¦ist", LIST), ("function: notes/g¦et", "functions/notes/get.yaml"),
        ("topic: n¦ews", TOPIC),
    ],
)  # fmt: skip
def test_definitions_of_tools_and_topics_are_found(agents: Path, at: str, target: str) -> None:
    async def test(editor: Client) -> None:
        place = typed(editor, HELPER, at.replace("¦", ""), at)
        params = lsp.DefinitionParams(editor.document(HELPER), place)
        found = await editor.client.text_document_definition_async(params)
        assert isinstance(found, list | tuple)
        (item,) = found
        assert isinstance(item, lsp.Location)
        assert item.uri == editor.uri(target)

    edit(agents, test)


@pytest.mark.parametrize("at", ["  - notes/l¦ist", "function: notes/g¦et"])
def test_uses_of_a_function_include_tools_in_both_forms(agents: Path, at: str) -> None:
    async def test(editor: Client) -> None:
        place = typed(editor, HELPER, at.replace("¦", ""), at)
        context = lsp.ReferenceContext(include_declaration=False)
        params = lsp.ReferenceParams(context, editor.document(HELPER), place)
        found = await editor.client.text_document_references_async(params) or ()
        here = [item for item in found if item.uri == editor.uri(HELPER)]
        assert [item.range.start.line for item in here] == [place.line]

    edit(agents, test)


@pytest.mark.parametrize(
    ("at", "wanted"),
    [
        ("  - notes/l¦ist", "  - notes/shown"),
        ("function: notes/g¦et", "function: notes/shown"),
    ],
)  # fmt: skip
def test_a_rename_of_a_tool_changes_the_agent(agents: Path, at: str, wanted: str) -> None:
    async def test(editor: Client) -> None:
        place = typed(editor, HELPER, at.replace("¦", ""), at)
        params = lsp.RenameParams(editor.document(HELPER), place, "notes/shown")
        edited = await editor.client.text_document_rename_async(params)
        assert edited is not None
        changes = [item for item in edited.document_changes or () if hasattr(item, "edits")]
        texts = [e.new_text for item in changes for e in item.edits
                 if item.text_document.uri == editor.uri(HELPER)]  # fmt: skip
        assert any(wanted in text for text in texts), texts

    edit(agents, test)
