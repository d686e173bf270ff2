"""Register the features that an editor can request, and convert their results to LSP."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidRequest

from bbops.base.errors import BbopsError
from bbops.edit.authoring.formatting import format_file, is_resource
from bbops.interfaces.lsp.completion import TRIGGERS, complete
from bbops.interfaces.lsp.definition import FileRange, define, uses
from bbops.interfaces.lsp.editor import Editor, EditorPosition
from bbops.interfaces.lsp.hover import explain
from bbops.interfaces.lsp.rename import RenameError, RenamePlan, plan_rename, site_of


def register_features(editor: Editor) -> None:
    """Register all features that an editor can request."""
    _register_help(editor)
    _register_navigation(editor)
    _register_rename(editor)
    _register_fixes(editor)
    _register_format(editor)


def _register_help(editor: Editor) -> None:
    @editor.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=TRIGGERS)
    )
    def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        target = editor.locate(params.text_document.uri, params.position)
        return complete(target.folder, target.path, target.lines, target.offset) if target else []

    @editor.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        target = editor.locate(params.text_document.uri, params.position)
        return explain(target.folder, target.path, target.lines, target.offset) if target else None


def _register_navigation(editor: Editor) -> None:
    @editor.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
        target = editor.locate(params.text_document.uri, params.position)
        if target is None:
            return []
        sites = define(target.folder, target.path, target.lines, target.offset)
        return _locations(editor, target, sites)

    @editor.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        target = editor.locate(params.text_document.uri, params.position)
        if target is None:
            return []
        sites = uses(target.folder, target.path, target.lines, target.offset)
        return _locations(editor, target, sites)


def _register_rename(editor: Editor) -> None:
    @editor.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(params: lsp.PrepareRenameParams) -> lsp.Range | None:
        target = editor.locate(params.text_document.uri, params.position)
        site = site_of(target.folder, target.path, target.lines, target.offset) if target else None
        return target.lines.range(site.start, site.end) if target and site else None

    @editor.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        target = editor.locate(params.text_document.uri, params.position)
        if target is None:
            return None
        try:
            plan = plan_rename(
                target.folder, target.path, target.lines, target.offset, params.new_name
            )
            return _edit(editor, target, plan)
        except BbopsError as error:
            raise JsonRpcInvalidRequest(str(error)) from error


def _register_fixes(editor: Editor) -> None:
    @editor.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix])
    )
    def fixes(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        return [
            _fix(uri, diagnostic, str(diagnostic.data["write"]), diagnostic.data["at"])
            for diagnostic in params.context.diagnostics
            if isinstance(diagnostic.data, dict) and diagnostic.data.get("write")
        ]


def _register_format(editor: Editor) -> None:
    @editor.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        target = editor.locate(params.text_document.uri, lsp.Position(0, 0))
        if target is None or not is_resource(target.path):
            return []
        source = target.lines.source
        text = format_file(target.path, source.encode()).text
        # A file that is not valid YAML cannot be formatted.
        is_same = not text or text == source
        return [] if is_same else [lsp.TextEdit(target.lines.range(0, len(source)), text)]


def _fix(uri: str, diagnostic: lsp.Diagnostic, text: str, numbers: Sequence[int]) -> lsp.CodeAction:
    """Return the edit that replaces the wrong text by the right one."""
    place = lsp.Range(lsp.Position(*numbers[:2]), lsp.Position(*numbers[2:]))
    return lsp.CodeAction(
        title=f"write '{text.strip()}'",
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        is_preferred=True,
        edit=lsp.WorkspaceEdit(changes={uri: [lsp.TextEdit(place, text)]}),
    )


def _locations(
    editor: Editor, target: EditorPosition, sites: Iterable[FileRange]
) -> list[lsp.Location]:
    locations = []
    for site in sites:
        is_open = site.path == target.path
        lines = target.lines if is_open else editor.lines(target.folder.source(site.path))
        place = lines.range(site.start, site.end)
        locations.append(lsp.Location(editor.uri(target.folder, site.path), place))
    return locations


def _edit(editor: Editor, target: EditorPosition, plan: RenamePlan) -> lsp.WorkspaceEdit:
    """Convert a rename to LSP: texts in files by their old names, then moved files.

    Raises:
        RenameError: the editor cannot move files.
    """
    changes: dict[str, list[lsp.TextEdit]] = {}
    locations = _locations(editor, target, [site for site, _ in plan.edits])
    for place, (_, text) in zip(locations, plan.edits, strict=True):
        changes.setdefault(place.uri, []).append(lsp.TextEdit(place.range, text))
    if not plan.moves:
        return lsp.WorkspaceEdit(changes=changes)
    if not _moves_files(editor):
        raise RenameError("this editor cannot move files for a server", hint="use 'bbops mv'")
    edits = [
        lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(uri), list(texts))
        for uri, texts in changes.items()
    ]
    moves = [
        lsp.RenameFile(editor.uri(target.folder, old), editor.uri(target.folder, new))
        for old, new in plan.moves
    ]
    return lsp.WorkspaceEdit(document_changes=[*edits, *moves])


def _moves_files(editor: Editor) -> bool:
    workspace = editor.client_capabilities.workspace
    edit = workspace.workspace_edit if workspace else None
    operations = (edit.resource_operations if edit else None) or ()
    return lsp.ResourceOperationKind.Rename in operations
