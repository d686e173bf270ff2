"""Show what is there where a project has no page of its own: in `bbops dev`, and of a draft.

Nothing of it comes from elsewhere, and it runs no script. The answers of a draft lose their policy
on the way out, see `draft_origin`, so the page says it, too.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Sequence
from hashlib import sha256
from html import escape
from typing import Any, Final
from urllib.parse import quote

from bbops_server.data_plane.pages.frontend import wants_page
from bbops_server.process.messages.projects import StartPageTexts

MOST_ROUTES: Final = 12

_STYLE: Final = """
:root { --ground: #fff; --ink: #1b1d21; --soft: #5b6068; --line: #d9dce1; --link: #0b57c0 }
@media (prefers-color-scheme: dark) {
  :root { --ground: #16181c; --ink: #eceef1; --soft: #a3a9b3; --line: #3a3f47; --link: #8ab8ff }
}
html { color-scheme: light dark; background: var(--ground); color: var(--ink) }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 0 auto; padding: 2rem 1rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere }
p { margin: .5rem 0 } .soft { color: var(--soft) } a { color: var(--link) }
a:focus-visible { outline: 2px solid; outline-offset: 2px }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: 1rem 0 }
nav a { display: inline-flex; align-items: center; min-height: 2.75rem }
li a { display: inline-block } ul { list-style: none; margin: 1rem 0; padding: 0 }
li { border-top: 1px solid var(--line); padding: .3rem 0; overflow-wrap: anywhere }
code { font: .9em ui-monospace, monospace }
li code:first-child { display: inline-block; width: 5rem }
"""
_OWN_STYLE: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()
POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_OWN_STYLE}'; base-uri 'none'; form-action 'none'"
)
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""

Beside = Callable[[Any, Any], Awaitable[bool]]
Route = tuple[str, str]
"""Method and path."""


class StartPage:
    """Answers `/` where no route and no file does."""

    def __init__(
        self, start: StartPageTexts, routes: Iterable[Route], inner: Beside | None
    ) -> None:
        """`inner`, the frontend, is asked first."""
        self._inner = inner
        self._release = (b"x-release", start.release.encode())
        self._body = render(start, sorted(routes, key=lambda one: (one[1], one[0]))).encode()

    async def __call__(self, scope: Any, send: Any) -> bool:
        """Answer a request; return False, with nothing sent, where it is not for this page."""
        if self._inner is not None and await self._inner(scope, send):
            return True
        if scope["path"] != "/" or not wants_page(scope):
            return False
        await send_page(scope, send, 200, self._body, [self._release])
        return True


async def send_page(
    scope: Any, send: Any, status: int, body: bytes, more: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """Send a page that nobody keeps, frames or is led away from."""
    headers = [
        (b"content-type", b"text/html; charset=utf-8"), (b"content-length", b"%d" % len(body)),
        (b"content-security-policy", f"{POLICY}; frame-ancestors 'none'".encode()),
        (b"cache-control", b"no-store"), (b"referrer-policy", b"no-referrer"),
        (b"x-content-type-options", b"nosniff"), (b"x-frame-options", b"DENY"), *more,
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": headers})
    is_head = scope["method"] == "HEAD"
    await send({"type": "http.response.body", "body": b"" if is_head else body})


def render(start: StartPageTexts, routes: Sequence[Route]) -> str:
    """Return the page of a release."""
    if start.branch:
        title = f"Draft {start.branch} of {start.project}"
        about = f"Commit <code>{escape(start.release)}</code>. Only members of the project see it."
    else:
        title, about = start.project, "Served by <code>bbops dev</code>: every save is live."
    links = (("API reference", start.reference), ("Control plane", start.control))
    return render_page(title, [
        f'<p class="soft">{about}</p>', render_links(links), *_list(routes),
        '<p class="soft">A route for <code>/</code>, or a frontend, replaces this page.</p>',
    ])  # fmt: skip


def render_links(links: Iterable[tuple[str, str]]) -> str:
    """Return links of these words and addresses, which are text, as HTML."""
    shown = (f'<a href="{escape(url)}">{escape(words)}</a>' for words, url in links)
    return f"<nav>{''.join(shown)}</nav>"


def render_page(title: str, parts: Iterable[str]) -> str:
    """Return a page with this title, which is text, and these parts, which are HTML."""
    body = "\n".join(parts)
    return _PAGE.format(policy=escape(POLICY), title=escape(title), style=_STYLE, body=body)


def _list(routes: Sequence[Route]) -> list[str]:
    if not routes:
        return [
            "<p>There are no routes yet: create one with <code>bbops new endpoint NAME</code>.</p>"
        ]
    rows = (f"<li>{_row(method, path)}</li>" for method, path in routes[:MOST_ROUTES])
    left = len(routes) - MOST_ROUTES
    more = [f'<p class="soft">{left} more in the API reference.</p>'] if left > 0 else []
    return [f"<ul>{''.join(rows)}</ul>", *more]


def _row(method: str, path: str) -> str:
    """Return a route; one that a browser can open is a link, from where the page lies."""
    text = f"<code>{escape(path)}</code>"
    if method == "GET" and ":" not in path:
        text = f'<a href="./{escape(quote(path[1:], safe="/~%"))}">{text}</a>'
    return f"<code>{escape(method)}</code> {text}"
