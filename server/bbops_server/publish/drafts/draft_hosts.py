"""The hosts that a draft may reach: hosts of the live release, and hosts that a user allowed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.addresses import split
from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.standing import may_still
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_record
from bbops_server.publish.sources.values import is_full_id

_FILE: Final = "hosts.json"
MAX_HOSTS: Final = 100
_PORTS: Final = {"http": "80", "https": "443"}


class DraftHosts(msgspec.Struct, frozen=True):
    """The hosts that a user has allowed for one commit of a draft."""

    commit: str
    hosts: tuple[str, ...]
    who: str = ""
    """The e-mail address of the user."""

    project: str = ""
    """The name of the project."""


def find_allowed(live: PublishContext, state: Path, commit: str) -> tuple[str, ...]:
    """Return the hosts that a draft may reach at a commit; blocks.

    Args:
        live: the context of the live project.
        state: the draft's folder.
        commit: the draft's commit.

    Raises:
        DatabaseError: the accounts cannot be read.
    """
    allowed = read_allowed(state)
    hosts: tuple[str, ...] = ()
    if allowed is not None and commit and allowed.commit == commit:
        settings = live.plane.settings
        is_valid = may_still(settings, allowed.who, Permission.ALLOW_HOSTS, allowed.project)
        hosts = allowed.hosts if is_valid else ()
    return tuple(sorted({*_find_live_hosts(live), *hosts}))


def _find_live_hosts(live: PublishContext) -> set[str]:
    record = read_record(live)
    if record is None:
        return set()
    reaches = record.reaches
    hosts = set(reaches.get("hosts", ()))
    variables = [text.partition(":")[::2] for text in reaches.get("variables", ())]
    declared = {name: record.env[name] for name, _ in variables if name in record.env}
    values, _ = live.secrets.resolve(declared) if declared else ({}, [])
    return hosts | {_host(values.get(name) or "", port) for name, port in variables} - {""}


def _host(text: str, port: str = "") -> str:
    """Return the host in a URL or host name, with its port, or `port` if it has none."""
    parts = split(text if "//" in text else f"//{text}")
    if parts is None or not parts.hostname:
        return ""
    port = str(parts.port or port or _PORTS.get(parts.scheme, ""))
    return f"{parts.hostname}:{port}" if port else parts.hostname


def read_allowed(state: Path) -> DraftHosts | None:
    """Return the hosts that a user has allowed for a draft."""
    try:
        return msgspec.json.decode((state / _FILE).read_bytes(), type=DraftHosts)
    except (OSError, msgspec.MsgspecError):
        return None


def require_commit(branch: str, newest: str, named: str) -> None:
    """Require that a full id is the newest commit of a draft. Raises: ServerError: it is not."""
    if not is_full_id(named, newest):
        raise ServerError(
            f"draft '{branch}' is at {newest[:12]}, not {named[:12]}",
            hint="check what it would send there, then allow it for that commit",
        )


def allow(
    state: Path, commit: str, hosts: Sequence[str], who: str, project: str
) -> DraftHosts:  # fmt: skip
    """Allow more hosts for one commit of a draft, as one user; blocks.

    The decision is of the last user: it includes the hosts that others have allowed before.

    Raises:
        ServerError: a host name is not valid, or there are too many.
    """
    known = read_allowed(state)
    before = known.hosts if known is not None and known.commit == commit else ()
    for host in hosts:
        if _host(host) != host.lower() or "*" in host:
            raise ServerError(
                f"'{host[:100]}' is not the name of a host",
                hint="for example api.example.com, or api.example.com:8443 for another port",
            )
    merged = tuple(sorted({*before, *(host.lower() for host in hosts)}))
    if len(merged) > MAX_HOSTS:
        raise ServerError(f"at most {MAX_HOSTS} hosts may be allowed")
    allowed = DraftHosts(commit, merged, who, project)
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(state / _FILE, msgspec.json.encode(allowed))
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{state / _FILE}': {reason}") from None
    return allowed
