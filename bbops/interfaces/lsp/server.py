"""The language server: registers its features, and the notifications about documents."""

from __future__ import annotations

import logging

from lsprotocol import types as lsp

from bbops.interfaces.lsp.editor import Editor
from bbops.interfaces.lsp.features import register_features


def create_server() -> Editor:
    """Return a language server with all its features."""
    editor = Editor()
    _register_documents(editor)
    register_features(editor)
    return editor


def _register_documents(editor: Editor) -> None:
    @editor.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        editor.update(params.text_document.uri, params.text_document.text)

    @editor.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        for change in params.content_changes:  # each contains the whole text
            editor.update(params.text_document.uri, change.text)

    @editor.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        _check_again(editor, params.text_document.uri)

    @editor.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        editor.update(params.text_document.uri, None)

    @editor.feature(lsp.INITIALIZED)
    async def ready(_: lsp.InitializedParams) -> None:
        await _watch(editor)

    @editor.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def touched(params: lsp.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            _check_again(editor, change.uri)


def _check_again(editor: Editor, uri: str) -> None:
    location = editor.find(uri)
    if location is not None:
        editor.check_soon(location[0])


async def _watch(editor: Editor) -> None:
    """Subscribe to files that change outside the editor, as when git checks out a branch."""
    workspace = editor.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched is None or not watched.dynamic_registration:
        return
    options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher("**/*.yaml")])
    registration = lsp.Registration("files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await editor.client_register_capability_async(lsp.RegistrationParams([registration]))


def serve() -> None:
    """Serve an editor over stdin and stdout until it exits."""
    logging.getLogger("pygls").setLevel(logging.ERROR)
    create_server().start_io()
