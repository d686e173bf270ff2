"""The language server: tells the editor's messages to what answers them."""

from __future__ import annotations

import logging

from lsprotocol import types as lsp

from bbops.interfaces.lsp.editor import Editor
from bbops.interfaces.lsp.questions import serve_questions


def make() -> Editor:
    """Return a language server with all it can do."""
    editor = Editor()
    _serve_documents(editor)
    serve_questions(editor)
    return editor


def _serve_documents(editor: Editor) -> None:
    @editor.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        editor.take(params.text_document.uri, params.text_document.text)

    @editor.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        for change in params.content_changes:  # each holds the whole text
            editor.take(params.text_document.uri, change.text)

    @editor.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        _look_again(editor, params.text_document.uri)

    @editor.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        editor.take(params.text_document.uri, None)

    @editor.feature(lsp.INITIALIZED)
    async def ready(_: lsp.InitializedParams) -> None:
        await _watch(editor)

    @editor.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def touched(params: lsp.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            _look_again(editor, change.uri)


def _look_again(editor: Editor, uri: str) -> None:
    found = editor.find(uri)
    if found is not None:
        editor.check_soon(found[0])


async def _watch(editor: Editor) -> None:
    """Ask to hear of files that change outside the editor, as when git checks out a branch."""
    workspace = editor.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched is None or not watched.dynamic_registration:
        return
    options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher("**/*.yaml")])
    wish = lsp.Registration("files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await editor.client_register_capability_async(lsp.RegistrationParams([wish]))


def serve() -> None:
    """Speak with an editor over stdin and stdout until it ends."""
    logging.getLogger("pygls").setLevel(logging.ERROR)
    make().start_io()
