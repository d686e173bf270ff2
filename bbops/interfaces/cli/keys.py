"""Issue API keys for a project's channels, rotate and revoke them."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from urllib.parse import quote

import click
import msgspec

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.base.render import one_line
from bbops.interfaces.answers import ApiKeyInfo, IssuedKey
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._server import as_json_option, of_project, of_server, open_remote
from bbops.interfaces.cli._target import print_list
from bbops.interfaces.client import Remote

T = TypeVar("T")

WAKING_SECONDS: Final = 45.0
"""The timeout of a request about a draft, which may have to start first."""

PREFIX_LENGTH: Final = 9
"""The characters of a key that a server stores: `bk_` and six more."""

of_draft = click.option(
    "--draft",
    metavar="BRANCH",
    help="The keys of this draft, which are separate from the live ones.",
)


def _check_time(context: click.Context, option: click.Parameter, given: str | None) -> str | None:
    """Return a time. Raises: BadParameter: it has another form."""
    if given is None or re.fullmatch(r"[0-9]{1,7}[smhdw]", given):
        return given
    raise click.BadParameter(
        f"'{given}' is not a time such as 12h, 90d or 52w", ctx=context, param=option
    )


@examples("bbops keys issue partner", "bbops keys list")
@click.group(cls=CommandGroup)
def command() -> None:
    """Manage API keys for channels with 'authentication: API Key'; for maintainers.

    A key is sent as the header X-API-Key, or as api_key in the query. It is shown once: the server
    stores its hash. KEY below is its id, or the prefix that 'bbops keys list' shows.
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
    callback=_check_time,
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
        issued = _request(remote, project, draft, "POST", "", IssuedKey, body)
        _print_key(issued, as_json=as_json)


@examples("bbops keys list", "bbops keys list --all")
@command.command("list")
@click.option(
    "--all", "with_ended", is_flag=True, help="Include keys that have expired or were revoked."
)
@of_draft
@of_project
@of_server
@as_json_option
def show(
    draft: str | None, project: str | None, server: str, *, with_ended: bool, as_json: bool
) -> None:
    """List the keys, newest first, with the time of their last use; never the keys themselves."""
    with open_remote(server) as remote:
        keys = _request(remote, project, draft, "GET", "", list[ApiKeyInfo])
    now = datetime.now(UTC).timestamp()  # noqa: TID251 - the clock of the user's machine
    listed = [key for key in keys if with_ended or not key.has_ended(now)]
    none = "no API keys; create one with 'bbops keys issue NAME'"
    print_list(listed, lambda key: _line(key, now), none=none, as_json=as_json)


@examples("bbops keys rotate bk_4f1c9a", "bbops keys rotate bk_4f1c9a --overlap 24h")
@command.command("rotate")
@click.argument("key")
@click.option("--overlap", default="24h", show_default=True, metavar="DURATION",
              callback=_check_time,
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
        path, body = f"/{_prefix(key)}/rotate", {"overlap": overlap}
        issued = _request(remote, project, draft, "POST", path, IssuedKey, body)
    _print_key(issued, as_json=as_json)


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
        path = f"/{_prefix(key)}/revoke"
        revoked = _request(remote, project, draft, "POST", path, dict[str, str])
    say(json.dumps(revoked) if as_json else f"revoked {revoked['id']}")


def _request(
    remote: Remote, project: str | None, draft: str | None, method: str, path: str, kind: type[T],
    body: Any = None,
) -> T:  # fmt: skip
    """Send a request about the keys of a project, or of the draft of a branch."""
    name = project or remote.only_project()
    if draft is None:
        return remote.of_project(name, method, f"keys{path}", kind, body)
    slug = quote(remote.draft(name, draft).slug, safe="")
    return remote.of_project(
        name, method, f"drafts/{slug}/keys{path}", kind, body, WAKING_SECONDS
    )  # fmt: skip


def _prefix(key: str) -> str:
    """Return the part of a key that identifies it in a URL, never a whole key."""
    return quote(key[:PREFIX_LENGTH] if key.startswith("bk_") else key, safe="")


def _read(claims: str | None) -> dict[str, Any]:
    try:
        return msgspec.json.decode(claims, type=dict[str, Any]) if claims else {}
    except msgspec.DecodeError:
        raise ServerError(
            "--claims must be a JSON object", hint="such as '{\"room\": 7}'"
        ) from None


def _print_key(issued: IssuedKey, *, as_json: bool) -> None:
    if as_json:
        say(json.dumps({"id": issued.id, "key": issued.key}))
        return
    say(issued.key)
    click.echo(f"its id is {issued.id}; the key itself cannot be shown again", err=True)


def _line(key: ApiKeyInfo, now: float) -> str:
    channels = "every channel" if key.channels is None else ", ".join(key.channels)
    times = f"{_expiry(key, now):<16}  {_last_use(key):<21}"
    return f"{key.prefix}…  {times}  {one_line(key.name)}  {channels}  {key.id}"


def _expiry(key: ApiKeyInfo, now: float) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is None:
        return "no expiry"
    day = datetime.fromtimestamp(key.expires_at, UTC).date().isoformat()
    return f"ended {day}" if key.expires_at <= now else f"until {day}"


def _last_use(key: ApiKeyInfo) -> str:
    if key.used_at is None:
        return "never used"
    return f"used {datetime.fromtimestamp(key.used_at, UTC):%Y-%m-%d %H:%M}"
