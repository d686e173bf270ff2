"""What programs read before they connect: cards, catalogs, indexes of skills and of pages.

Each document says the server's own address, as people are told it, and nothing of its projects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

import bbops
from bbops.interfaces.mcp.clients import CLIENTS, McpClient
from bbops.interfaces.mcp.handbook import HandbookPage, read_pages
from bbops.interfaces.mcp.skills import Skill, read_skills
from bbops_server.mcp.oauth.endpoints import METADATA
from bbops_server.mcp.public_context import MCP_PATH
from bbops_server.mcp.servers import PROTOCOLS

_TITLE: Final = "bbops: backends that live in git"
_ABOUT: Final = "Finds documentation and projects, and directs agents to the server of one project."
_CARD: Final = "application/mcp-server-card+json"
_INTRODUCTION: Final = (
    "> Backends that live in git: YAML in a repository becomes a live API, and a commit changes it."
    " Agents work on drafts and open pull requests."
)
_TEXT: Final = "text/markdown; charset=utf-8"
_PARTS: Final = (
    ("Guides", ""),
    ("The language", "language/"),
    ("Steps", "language/steps/"),
    ("Addons", "language/addons/"),
    ("Optional", "errors/"),
)


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it is sent."""

    body: bytes
    content_type: str

    @property
    def etag(self) -> str:
        """Names what it says."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'


def read_document(url: str, path: str) -> Document | None:
    """Return a document of the server at an address; None when there is none at the path."""
    if path in DOCUMENTS:
        return _write(url, path)
    folder, _, rest = path.removeprefix("/").partition("/")
    if folder == "docs" and rest in read_pages():
        return Document(read_pages()[rest].text.encode(), _TEXT)
    for skill in read_skills().values() if folder == "skills" else ():
        if rest == skill.path:
            return Document(skill.text.encode(), _TEXT)
    return None


@lru_cache(64)
def _write(url: str, path: str) -> Document:
    return DOCUMENTS[path](url)


def _write_card(url: str) -> Document:
    """Source: SEP-2127, schema.json."""
    host = urlsplit(url).hostname or "localhost"
    name = host if _is_number(host) else ".".join(reversed(host.split(".")))
    remote = {
        "type": "streamable-http", "url": url + MCP_PATH,
        "supportedProtocolVersions": list(PROTOCOLS),
    }  # fmt: skip
    card = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json",
        "name": f"{name.replace(':', '-')}/bbops", "version": bbops.__version__, "title": _TITLE,
        "description": _ABOUT, "websiteUrl": f"{url}/llms.txt", "remotes": [remote],
    }  # fmt: skip
    return _json(card, _CARD)


def _is_number(host: str) -> bool:
    return host.replace(".", "").isdigit() or ":" in host


def _write_catalog(url: str) -> Document:
    """Source: the AI Catalog of the Agent Card working group, entries of server cards."""
    host = (urlsplit(url).hostname or "localhost").replace(":", "-")
    entry = {
        "identifier": f"urn:air:{host}:bbops", "displayName": _TITLE, "type": _CARD,
        "url": f"{url}{MCP_PATH}/server-card",
    }  # fmt: skip
    return _json({"specVersion": "1.0", "entries": [entry]}, "application/ai-catalog+json")


def _write_skill_index(url: str) -> Document:
    """Source: Agent Skills Discovery 0.2.0."""
    schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
    return _json({"$schema": schema, "skills": [_skill(url, one) for one in _skills()]})


def _write_skills(url: str) -> Document:
    return _json(
        {"skills": [_skill(url, one) | {"sizeBytes": one.size_bytes} for one in _skills()]}
    )


def _list_skills(url: str) -> Document:
    lines = [f"- [{one.name}]({url}/skills/{one.path}): {one.description}" for one in _skills()]
    return _text(["# Skills for agents that work with bbops", "", *lines])


def _write_manifest(url: str) -> Document:
    """How each client is told where this server is, and how a project's is found."""
    address = url + MCP_PATH
    manifest = {
        "server": {
            "name": "bbops", "url": address, "transport": "streamable-http",
            "protocolVersions": list(PROTOCOLS),
        },
        "commands": {
            "install": f"bbops mcp init --server {url}",
            "installWithoutAsking": f"bbops mcp init --server {url} --yes --json",
            "status": "bbops mcp status --json",
            "connect": f"bbops mcp connect PROJECT --server {url}",
        },
        "clients": [_client(name, one, address) for name, one in CLIENTS.items()],
        "oauth": {
            "protectedResource": f"{url}{METADATA}{MCP_PATH}",
            "signUp": f"{url}/signup",
            "notes": "Clients find the authorization server in the protected resource's document;"
            " it is not an MCP server. Discovery tools need no sign-in. No file holds a token.",
        },
        "projectServers": "Use the exact mcpUrl that project_select returns after the sign-in."
        " Never build it from a name, a pattern or another address.",
        "firstCall": "platform_get_onboarding",
    }  # fmt: skip
    return _json(manifest)


def _client(name: str, one: McpClient, address: str) -> dict[str, Any]:
    return {
        "name": name, "title": one.title, "file": one.file, "format": one.form,
        "keys": [*one.keys, "bbops"], "entry": one.entry(address), "signIn": one.sign_in,
        "skills": one.skills,
    }  # fmt: skip


def _write_llms(url: str) -> Document:
    lines = [
        "# bbops", "", _INTRODUCTION, "",
        f"MCP server: {url}{MCP_PATH} (streamable HTTP; call platform_get_onboarding first).", "",
        "## Skills", "", *_list_skills(url).body.decode().splitlines()[2:], "",
    ]  # fmt: skip
    for title, folder in _PARTS:
        lines += [f"## {title}", "", *(_line(url, page) for page in _pages(folder)), ""]
    return _text(lines)


def _write_all(_: str) -> Document:
    """All pages in one, each below its path."""
    parts = (f"<!-- docs/{page.path} -->\n\n{page.text}" for page in read_pages().values())
    return _text(["# bbops", "", *parts])


DOCUMENTS: Final[Mapping[str, Callable[[str], Document]]] = {
    "/.well-known/mcp.json": _write_card,
    f"{MCP_PATH}/server-card": _write_card,
    f"{MCP_PATH}/install-manifest": _write_manifest,
    "/.well-known/ai-catalog.json": _write_catalog,
    "/.well-known/agent-skills/index.json": _write_skill_index,
    "/skills": _list_skills,
    "/skills/skills.json": _write_skills,
    "/llms.txt": _write_llms,
    "/llms-full.txt": _write_all,
}
"""By path, each for the address of a server."""


def _line(url: str, page: HandbookPage) -> str:
    said = f": {page.summary}" if page.summary else ""
    return f"- [{page.title}]({url}/docs/{page.path}){said}"


def _pages(folder: str) -> Iterable[HandbookPage]:
    """Return the pages of one folder, without those of folders in it."""
    found = read_pages().values()
    return (one for one in found if one.path.rpartition("/")[0] == folder.rstrip("/"))


def _skills() -> Iterable[Skill]:
    return read_skills().values()


def _skill(url: str, one: Skill) -> dict[str, Any]:
    return {
        "name": one.name, "type": "skill-md", "description": one.description,
        "url": f"{url}/skills/{one.path}", "digest": one.digest,
    }  # fmt: skip


def _json(value: Any, content_type: str = "application/json") -> Document:
    return Document(msgspec.json.format(msgspec.json.encode(value)) + b"\n", content_type)


def _text(lines: Iterable[str]) -> Document:
    return Document(("\n".join(lines).rstrip() + "\n").encode(), _TEXT)
