"""Give out API keys for a project's channels, replace them, take them back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from urllib.parse import quote

import click
import msgspec

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.base.render import one_line
from bbops.interfaces.answers import ApiKey, IssuedKey
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._server import as_json_option, of_project, of_server, open_remote
from bbops.interfaces.client import Remote

T = TypeVar("T")

WAKING_SECONDS: Final = 45.0
"""A draft that sleeps is made first."""

SHOWN: Final = 9
"""The characters of a key that a server keeps: `bk_` and six more."""

of_draft = click.option(
    "--draft",
    metavar="BRANCH",
    help="The keys of this draft, which are separate from the live ones.",
)


@examples("bbops keys issue partner", "bbops keys list")
@click.group(cls=Family)
def command() -> None:
    """Manage API keys for channels with 'authentication: API Key'; for maintainers.

    A key is sent as the header X-API-Key, or as api_key in the query. It is shown once: the server
    keeps its hash. KEY below is its id, or the beginning that 'bbops keys list' shows.
    """


@examples("bbops keys issue partner", "bbops keys issue nightly --channel reports-v1 --expires 90d")
@command.command("issue")
@click.argument("name")
@click.option("--channel", "channels", multiple=True, metavar="NAME",
              help=("A channel the key gives access to; by default every channel that "
                  "takes API keys."))  # fmt: skip
@click.option(
    "--expires",
    metavar="DURATION",
    help="How long the key is valid, such as 90d; by default it does not expire.",
)
@click.option("--claims", metavar="JSON", help="A map that functions read as vars.apiKey.claims.")
@of_draft
@of_project
@of_server
@as_json_option
def issue(
    name: str, channels: tuple[str, ...], expires: str | None, claims: str | None,
    draft: str | None, project: str | None, server: str, *, as_json: bool,
) -> None:  # fmt: skip
    """Create a key called NAME. If the output is a pipe, only the key is printed."""
    body = {"name": name, "channels": channels, "expires_in": expires, "claims": _read(claims)}
    with open_remote(server) as remote:
        made = _ask(remote, project, draft, "POST", "", IssuedKey, body)
    _show(made, as_json=as_json)


@examples("bbops keys list", "bbops keys list --all")
@command.command("list")
@click.option(
    "--all", "ended_too", is_flag=True, help="Include keys that have expired or were revoked."
)
@of_draft
@of_project
@of_server
@as_json_option
def show(
    draft: str | None, project: str | None, server: str, *, ended_too: bool, as_json: bool
) -> None:
    """List the keys, newest first, and when each was last used; never the keys themselves."""
    with open_remote(server) as remote:
        found = _ask(remote, project, draft, "GET", "", list[ApiKey])
    now = datetime.now(UTC).timestamp()  # noqa: TID251 - what has ended is a matter of today
    shown = [one for one in found if ended_too or not one.has_ended(now)]
    none = "no API keys; create one with 'bbops keys issue NAME'"
    say_list(shown, lambda one: _line(one, now), none=none, as_json=as_json)


@examples("bbops keys rotate bk_4f1c9a", "bbops keys rotate bk_4f1c9a --overlap 24h")
@command.command("rotate")
@click.argument("key")
@click.option("--overlap", default="24h", show_default=True, metavar="DURATION",
              help="How long the old key stays valid; 0s revokes it now.")  # fmt: skip
@of_draft
@of_project
@of_server
@as_json_option
def rotate(
    key: str, overlap: str, draft: str | None, project: str | None, server: str, *, as_json: bool
) -> None:
    """Replace KEY by a new key with the same name, channels and claims."""
    with open_remote(server) as remote:
        what, body = f"/{_shown(key)}/rotate", {"overlap": overlap}
        made = _ask(remote, project, draft, "POST", what, IssuedKey, body)
    _show(made, as_json=as_json)


@examples("bbops keys revoke bk_4f1c9a")
@command.command("revoke")
@click.argument("key")
@of_draft
@of_project
@of_server
@as_json_option
def revoke(key: str, draft: str | None, project: str | None, server: str, *, as_json: bool) -> None:
    """Revoke KEY. It stops working within five seconds, in every process of the server."""
    with open_remote(server) as remote:
        ended = _ask(remote, project, draft, "POST", f"/{_shown(key)}/revoke", dict[str, str])
    say(json.dumps(ended) if as_json else f"revoked {ended['id']}")


def _ask(
    remote: Remote, project: str | None, draft: str | None, method: str, what: str, kind: type[T],
    body: Any = None,
) -> T:  # fmt: skip
    """Return what a server answers about the keys of a project, or of the draft of a branch."""
    name = project or remote.only_project()
    if draft is None:
        return remote.of_project(name, method, f"keys{what}", kind, body)
    path = f"drafts/{quote(remote.draft(name, draft).slug, safe='')}/keys{what}"
    return remote.of_project(name, method, path, kind, body, WAKING_SECONDS)


def _shown(key: str) -> str:
    """Return what names a key in an address: of a whole key only what may be shown."""
    return quote(key[:SHOWN] if key.startswith("bk_") else key, safe="")


def _read(claims: str | None) -> dict[str, Any]:
    try:
        return msgspec.json.decode(claims, type=dict[str, Any]) if claims else {}
    except msgspec.DecodeError:
        raise ServerError(
            "--claims must be a JSON object", hint="such as '{\"room\": 7}'"
        ) from None


def _show(made: IssuedKey, *, as_json: bool) -> None:
    if as_json:
        say(json.dumps({"id": made.id, "key": made.key}))
        return
    say(made.key)
    click.echo(f"its id is {made.id}; the key itself cannot be shown again", err=True)


def _line(one: ApiKey, now: float) -> str:
    channels = "every channel" if one.channels is None else ", ".join(one.channels)
    when = f"{_end(one, now):<16}  {_use(one):<21}"
    return f"{one.prefix}…  {when}  {one_line(one.name)}  {channels}  {one.id}"


def _end(one: ApiKey, now: float) -> str:
    if one.revoked_at is not None:
        return "revoked"
    if one.expires_at is None:
        return "for ever"
    day = datetime.fromtimestamp(one.expires_at, UTC).date().isoformat()
    return f"ended {day}" if one.expires_at <= now else f"until {day}"


def _use(one: ApiKey) -> str:
    if one.used_at is None:
        return "never used"
    return f"used {datetime.fromtimestamp(one.used_at, UTC):%Y-%m-%d %H:%M}"
