"""Sources of addons: OpenAPI documents, files, and the tools of an MCP server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bbops.base.diagnostics import suggest
from bbops.edit.importing.addon import Source
from bbops.edit.importing.document import (
    MOST_BYTES,
    Document,
    Refused,
    find_auth,
    find_server,
    one_line,
)
from bbops.edit.importing.operations import MOST_TITLE, make_step
from bbops.edit.importing.schemas import NAME, Reader, bounded
from bbops.runtime.vendors._mcp import digest_of

MOST_WHERE: Final = 500


def read_openapi(data: bytes, where: str, server: str = "") -> Source:
    """Return a document of OpenAPI as a source.

    Args:
        data: JSON or YAML.
        where: its file or address.
        server: where the API is, if not where the document says.

    Raises:
        Refused: it cannot be read, or says nowhere where the API is.
    """
    document = Document.read(data)
    note: dict[str, Any] = {"openapi": where[:MOST_WHERE], "digest": document.digest}
    if document.version:
        note["version"] = document.version
    settings: dict[str, Any] = {"server": find_server(document, server, where)}
    if auth := find_auth(document):
        settings["auth"] = auth
    return Source(settings, note, lambda wanted: make_step(document, wanted))


def read_tools(tools: Sequence[Mapping[str, Any]], url: str, headers: Sequence[str] = ()) -> Source:
    """Return the tools of an MCP server as a source.

    Args:
        tools: their definitions.
        url: where it is.
        headers: names of those that it was asked with, which its steps need as well.
    """
    named = {str(one.get("name")): one for one in tools}

    def make(wanted: str) -> tuple[dict[str, Any], list[str]]:
        if wanted not in named:
            hint = suggest(wanted, named) or "tools are: " + ", ".join([*named][:20])
            raise Refused(f"the server has no tool '{one_line(wanted, 100)}'", hint=hint)
        return _tool(named[wanted], wanted), []

    settings: dict[str, Any] = {"mcp": url}
    if auth := _auth(headers):
        settings["auth"] = auth
    return Source(settings, {"mcp": url[:MOST_WHERE]}, make)


def _auth(headers: Sequence[str]) -> dict[str, Any]:
    others = [name for name in headers if name.lower() != "authorization"]
    if not others:
        return {"bearer": "token"} if headers else {}
    keys = ["apiKey", *(f"apiKey{at}" for at in range(2, len(others) + 1))]
    return {"header": dict(zip(others, keys, strict=False))}


def _tool(tool: Mapping[str, Any], name: str) -> dict[str, Any]:
    title = one_line(str(tool.get("title") or name), MOST_TITLE)
    found: dict[str, Any] = {
        "title": title or name[:MOST_TITLE], "tool": {"name": name, "digest": digest_of(tool)},
    }  # fmt: skip
    parameters = _parameters(tool.get("inputSchema"), name)
    if parameters:
        found["parameters"] = parameters
    output = tool.get("outputSchema")
    if isinstance(output, Mapping):
        gives = bounded(Reader(Document("", {**output}), sends=False).field(output))
        if gives != "json":
            found["gives"] = gives
    else:
        found["gives"] = {"type": "object", "fields": {"content": "string"}}
    return found


def _parameters(schema: Any, name: str) -> dict[str, Any]:
    """Return the arguments of a tool; references in it are to its own `$defs`.

    Raises:
        Refused: one that must be given has no name of ours.
    """
    if not isinstance(schema, Mapping):
        return {}
    reader = Reader(Document("", {**schema}), sends=True)
    whole = reader.merged(schema) if isinstance(schema.get("allOf"), list) else schema
    needed = {one for one in whole.get("required") or () if isinstance(one, str)}
    found: dict[str, Any] = {}
    for one, inner in reader.properties(whole):
        if NAME(one):
            found[one if one in needed else f"{one}?"] = reader.field(inner, 1)
        elif one in needed:
            message = f"tool '{name}' needs '{one_line(one, 80)}', which cannot be a parameter"
            raise Refused(message)
    fields = bounded({"type": "object", "fields": found}) if found else {}
    shape: dict[str, Any] = fields["fields"] if isinstance(fields, dict) and fields else {}
    return shape


def read_document_file(path: Path) -> bytes:
    """Return the bytes of a file; one byte more than a document may have tells that it is larger.

    Raises:
        Refused: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise Refused(f"cannot read '{path}': {reason}") from None
