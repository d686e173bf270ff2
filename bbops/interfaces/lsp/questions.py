"""What an editor may ask about a place in a document, and the form of the answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidRequest

from bbops.base.errors import BbopsError
from bbops.edit.authoring.formatting import format_file, is_resource
from bbops.interfaces.lsp.completion import TRIGGERS, complete
from bbops.interfaces.lsp.definition import Site, define, uses
from bbops.interfaces.lsp.editor import Asked, Editor
from bbops.interfaces.lsp.hover import explain
from bbops.interfaces.lsp.rename import NoRename, Plan, plan_rename, site_of


def serve_questions(editor: Editor) -> None:
    """Let a server answer all questions."""
    _serve_help(editor)
    _serve_places(editor)
    _serve_rename(editor)
    _serve_cures(editor)
    _serve_format(editor)


def _serve_help(editor: Editor) -> None:
    @editor.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=TRIGGERS)
    )
    def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        at = editor.ask(params.text_document.uri, params.position)
        return complete(at.folder, at.path, at.lines, at.offset) if at else []

    @editor.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        at = editor.ask(params.text_document.uri, params.position)
        return explain(at.folder, at.path, at.lines, at.offset) if at else None


def _serve_places(editor: Editor) -> None:
    @editor.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
        at = editor.ask(params.text_document.uri, params.position)
        return _places(editor, at, define(at.folder, at.path, at.lines, at.offset)) if at else []

    @editor.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        at = editor.ask(params.text_document.uri, params.position)
        return _places(editor, at, uses(at.folder, at.path, at.lines, at.offset)) if at else []


def _serve_rename(editor: Editor) -> None:
    @editor.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(params: lsp.PrepareRenameParams) -> lsp.Range | None:
        at = editor.ask(params.text_document.uri, params.position)
        site = site_of(at.folder, at.path, at.lines, at.offset) if at else None
        return at.lines.range(site.start, site.end) if at and site else None

    @editor.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        at = editor.ask(params.text_document.uri, params.position)
        if at is None:
            return None
        try:
            plan = plan_rename(at.folder, at.path, at.lines, at.offset, params.new_name)
            return _edit(editor, at, plan)
        except BbopsError as error:
            raise JsonRpcInvalidRequest(str(error)) from error


def _serve_cures(editor: Editor) -> None:
    @editor.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix])
    )
    def cures(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        return [
            _cure(uri, one, str(one.data["write"]), one.data["at"])
            for one in params.context.diagnostics
            if isinstance(one.data, dict) and one.data.get("write")
        ]


def _serve_format(editor: Editor) -> None:
    @editor.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        at = editor.ask(params.text_document.uri, lsp.Position(0, 0))
        if at is None or not is_resource(at.path):
            return []
        source = at.lines.source
        text = format_file(at.path, source.encode()).text
        # a file with mistakes of YAML has no other form
        same = not text or text == source
        return [] if same else [lsp.TextEdit(at.lines.range(0, len(source)), text)]


def _cure(uri: str, found: lsp.Diagnostic, word: str, at: Sequence[int]) -> lsp.CodeAction:
    """Return the edit by which the word that a hint names stands where the wrong one does."""
    place = lsp.Range(lsp.Position(*at[:2]), lsp.Position(*at[2:]))
    return lsp.CodeAction(
        title=f"write '{word.strip()}'",
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[found],
        is_preferred=True,
        edit=lsp.WorkspaceEdit(changes={uri: [lsp.TextEdit(place, word)]}),
    )


def _places(editor: Editor, at: Asked, sites: Iterable[Site]) -> list[lsp.Location]:
    found = []
    for site in sites:
        lines = at.lines if site.path == at.path else editor.lines(at.folder.source(site.path))
        place = lines.range(site.start, site.end)
        found.append(lsp.Location(editor.uri(at.folder, site.path), place))
    return found


def _edit(editor: Editor, at: Asked, plan: Plan) -> lsp.WorkspaceEdit:
    """Return a rename as an editor takes it: texts under the old names, then files that move.

    Raises:
        NoRename: the editor cannot move files.
    """
    changes: dict[str, list[lsp.TextEdit]] = {}
    places = _places(editor, at, [site for site, _ in plan.edits])
    for place, (_, text) in zip(places, plan.edits, strict=True):
        changes.setdefault(place.uri, []).append(lsp.TextEdit(place.range, text))
    if not plan.moves:
        return lsp.WorkspaceEdit(changes=changes)
    if not _moves_files(editor):
        raise NoRename("this editor cannot move files for a server", hint="use 'bbops mv'")
    edits = [
        lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(uri), list(texts))
        for uri, texts in changes.items()
    ]
    moves = [
        lsp.RenameFile(editor.uri(at.folder, old), editor.uri(at.folder, new))
        for old, new in plan.moves
    ]
    return lsp.WorkspaceEdit(document_changes=[*edits, *moves])


def _moves_files(editor: Editor) -> bool:
    workspace = editor.client_capabilities.workspace
    told = workspace.workspace_edit if workspace else None
    operations = (told.resource_operations if told else None) or ()
    return lsp.ResourceOperationKind.Rename in operations
