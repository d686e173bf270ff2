"""Documents for programs that connect: cards, catalogs, indexes of skills and of pages.

Each document has the server's public address, and nothing about its projects.
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
    """A document and its content type."""

    body: bytes
    content_type: str

    @property
    def etag(self) -> str:
        """The entity tag of its content."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'


def read_document(url: str, path: str) -> Document | None:
    """Return the document at a path of the server at `url`; None if there is none."""
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
    return _json({"$schema": schema, "skills": [_skill(url, skill) for skill in _skills()]})


def _write_skills(url: str) -> Document:
    return _json(
        {"skills": [_skill(url, skill) | {"sizeBytes": skill.size_bytes} for skill in _skills()]}
    )


def _list_skills(url: str) -> Document:
    lines = [
        f"- [{skill.name}]({url}/skills/{skill.path}): {skill.description}" for skill in _skills()
    ]
    return _text(["# Skills for agents that work with bbops", "", *lines])


def _write_manifest(url: str) -> Document:
    """Return the settings of each client for this server, and the way to a project's server."""
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
        "clients": [_client(name, client, address) for name, client in CLIENTS.items()],
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


def _client(name: str, client: McpClient, address: str) -> dict[str, Any]:
    return {
        "name": name, "title": client.title, "file": client.file, "format": client.form,
        "keys": [*client.keys, "bbops"], "entry": client.entry(address),
        "signIn": client.sign_in, "skills": client.skills,
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
    """Return all pages as one document, each below its path."""
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
"""Writers of documents by path."""


def _line(url: str, page: HandbookPage) -> str:
    summary = f": {page.summary}" if page.summary else ""
    return f"- [{page.title}]({url}/docs/{page.path}){summary}"


def _pages(folder: str) -> Iterable[HandbookPage]:
    """Return the pages of a folder, without its subfolders."""
    found = read_pages().values()
    return (page for page in found if page.path.rpartition("/")[0] == folder.rstrip("/"))


def _skills() -> Iterable[Skill]:
    return read_skills().values()


def _skill(url: str, skill: Skill) -> dict[str, Any]:
    return {
        "name": skill.name, "type": "skill-md", "description": skill.description,
        "url": f"{url}/skills/{skill.path}", "digest": skill.digest,
    }  # fmt: skip


def _json(value: Any, content_type: str = "application/json") -> Document:
    return Document(msgspec.json.format(msgspec.json.encode(value)) + b"\n", content_type)


def _text(lines: Iterable[str]) -> Document:
    return Document(("\n".join(lines).rstrip() + "\n").encode(), _TEXT)
