"""Offer the skills over the protocol: listed, told one by one, and read as resources.

Each is one file, so there are no folders to read. Source: SEP-2640, skills over MCP; the
conformance suite of the protocol has scenarios of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from bbops.interfaces.mcp.skills import Skill, read_skills

EXTENSION: Final = "io.modelcontextprotocol/skills"
_SCHEME: Final = "skill://"
_MARKDOWN: Final = "text/markdown"
_HOUR: Final[Mapping[str, Any]] = {"ttlMs": 3_600_000, "cacheScope": "public"}

_Context = ServerRequestContext[Any, Any]


class _Named(types.RequestParams):
    uri: str


def offer_skills(server: Server[Any]) -> None:
    """Let a server offer every skill."""
    server.extensions[EXTENSION] = {}
    server.add_request_handler("skills/list", types.PaginatedRequestParams, _list_skills)
    server.add_request_handler("skills/get", _Named, _get_skill)
    server.add_request_handler("resources/list", types.PaginatedRequestParams, _list_resources)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, _read_resource)


async def _list_skills(context: _Context, _: Any) -> dict[str, Any]:
    return {"skills": [_entry(one) for one in read_skills().values()], **_lasting(context)}


async def _get_skill(context: _Context, wanted: _Named) -> dict[str, Any]:
    return {"skill": _entry(_find(wanted.uri)), **_lasting(context)}


async def _list_resources(_: _Context, __: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[_resource(one) for one in read_skills().values()])


async def _read_resource(
    _: _Context, wanted: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    text = _find(str(wanted.uri)).text
    contents = types.TextResourceContents(uri=wanted.uri, mime_type=_MARKDOWN, text=text)
    return types.ReadResourceResult(contents=[contents])


def _find(uri: str) -> Skill:
    """Return a skill. Raises: MCPError: it does not exist."""
    for skill in read_skills().values():
        if uri == _SCHEME + skill.path:
            return skill
    raise MCPError(
        types.INVALID_PARAMS, "there is no such skill; skills/list lists them", {"uri": uri}
    )


def _entry(skill: Skill) -> dict[str, Any]:
    uri = _SCHEME + skill.path
    file = {"uri": uri, "digest": skill.digest, "size": skill.size_bytes}
    return {"uri": uri, "frontmatter": dict(skill.front), "resources": [file]}


def _resource(skill: Skill) -> types.Resource:
    return types.Resource(
        uri=_SCHEME + skill.path, name=skill.name, description=skill.description,
        mime_type=_MARKDOWN, size=skill.size_bytes,
    )  # fmt: skip


def _lasting(context: _Context) -> Mapping[str, Any]:
    """Return how long a result of the newest protocol may be kept; older ones do not know it."""
    return _HOUR if context.protocol_version >= "2026" else {}
