"""The control plane's front page: each project, where it answers, how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bbops_server.reconciler.status import Status

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:3rem auto;padding:0 1rem}"
    "pre{overflow:auto;padding:1rem;background:#8881}"
)


def render_text(projects: Sequence[Status]) -> str:
    """Return the page as plain text."""
    return "\n".join(_project(one) for one in projects) or "no project yet\n"


def render_html(projects: Sequence[Status]) -> str:
    """Return the page as HTML; nothing on it runs."""
    parts = "".join(
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
    lines += [
        "  {file}:{line}:{column}: {severity}: {message} [{code}]".format_map(found)
        for found in status.diagnostics
    ]
    return "\n".join(lines) + "\n"
