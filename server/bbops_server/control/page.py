"""The control plane's front page: each project, where it answers, how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from bbops_server.reconciler.status import ServerStatus, Status

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:3rem auto;padding:0 1rem}"
    "pre{overflow:auto;padding:1rem;background:#8881}"
)


def render_text(server: ServerStatus, projects: Sequence[Status]) -> str:
    """Return the page as plain text."""
    parts = [*_server(server), *(_project(one) for one in projects)]
    return "\n".join(parts) or "no project yet\n"


def render_html(server: ServerStatus, projects: Sequence[Status]) -> str:
    """Return the page as HTML; nothing on it runs."""
    parts = "".join(f"<pre>{escape(text)}</pre>" for text in _server(server))
    parts += "".join(
        f'<h2><a href="{escape(one.url)}">{escape(one.name)}</a></h2>'
        f"<pre>{escape(_project(one))}</pre>"
        for one in projects
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>bbops</title><style>{_STYLE}</style><h1>bbops</h1>"
        f'{parts or "<p>no project yet</p>"}<p><a href="/schema">API</a></p></html>'
    )


def _project(status: Status) -> str:
    lines = [
        f"{status.name}  {status.url}",
        f"  branch   {status.branch}",
        f"  live     {status.applied_revision or 'nothing yet'}",
    ]
    if status.attempted_revision != status.applied_revision:
        lines.append(f"  tried    {status.attempted_revision}")
    for one in status.conditions:
        sign = "yes" if one.status else "no"
        lines.append(f"  {one.type:<12} {sign:<3} {one.reason}: {one.message}")
    lines += map(_diagnostic, status.diagnostics)
    return "\n".join(lines) + "\n"


def _server(server: ServerStatus) -> Iterator[str]:
    """Yield what is to be said of the server itself; nothing where all is well."""
    if server.diagnostics:
        yield "\n".join([f"{server.file}", *map(_diagnostic, server.diagnostics)]) + "\n"


def _diagnostic(found: dict[str, Any]) -> str:
    return "  {file}:{line}:{column}: {severity}: {message} [{code}]".format_map(found)
