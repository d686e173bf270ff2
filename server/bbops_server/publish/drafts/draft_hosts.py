"""Which hosts a draft may reach: those of the live release, and those that a person allowed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.addresses import split
from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_record

_FILE: Final = "hosts.json"
MOST: Final = 100
_SHORTEST: Final = 7
"""Digits that name a commit."""

_PORTS: Final = {"http": "80", "https": "443"}


class Allowed(msgspec.Struct, frozen=True):
    """Hosts that a person let a draft reach, at one commit alone."""

    commit: str
    hosts: tuple[str, ...]


def find_allowed(live: PublishContext, state: Path, commit: str) -> tuple[str, ...]:
    """Return the hosts that a draft may reach at a commit; blocks.

    Args:
        live: the project as it is live.
        state: the draft's folder.
        commit: what the draft is at.
    """
    allowed = read_allowed(state)
    given = allowed.hosts if allowed is not None and commit and allowed.commit == commit else ()
    return tuple(sorted({*_of_live(live), *given}))


def _of_live(live: PublishContext) -> set[str]:
    found = read_record(live)
    if found is None:
        return set()
    reaches = found.reaches
    hosts = set(reaches.get("hosts", ()))
    used = [one.partition(":")[::2] for one in reaches.get("variables", ())]
    named = {name: found.env[name] for name, _ in used if name in found.env}
    values, _ = live.secrets.resolve(named) if named else ({}, [])
    return hosts | {_host(values.get(name) or "", port) for name, port in used} - {""}


def _host(text: str, port: str = "") -> str:
    """Return the host that a text names, with its port, or with `port` where it has none."""
    parts = split(text if "//" in text else f"//{text}")
    if parts is None or not parts.hostname:
        return ""
    port = str(parts.port or port or _PORTS.get(parts.scheme, ""))
    return f"{parts.hostname}:{port}" if port else parts.hostname


def read_allowed(state: Path) -> Allowed | None:
    """Return what a person has let a draft reach."""
    try:
        return msgspec.json.decode((state / _FILE).read_bytes(), type=Allowed)
    except (OSError, msgspec.MsgspecError):
        return None


def require_commit(branch: str, newest: str, named: str) -> None:
    """Refuse to allow anything for a commit that is not a draft's newest. Raises: ServerError."""
    if len(named) < _SHORTEST or not newest.startswith(named.lower()):
        raise ServerError(
            f"draft '{branch}' is at {newest[:12]}, not {named[:12]}",
            hint="check what it would send there, then allow it for that commit",
        )


def allow(state: Path, commit: str, hosts: Sequence[str]) -> Allowed:
    """Let a draft reach more hosts, at this commit alone; blocks.

    Raises:
        ServerError: one of them is no name of a host, or they are too many.
    """
    known = read_allowed(state)
    before = known.hosts if known is not None and known.commit == commit else ()
    for one in hosts:
        if _host(one) != one.lower() or "*" in one:
            raise ServerError(
                f"'{one[:100]}' is not the name of a host",
                hint="for example api.example.com, or api.example.com:8443 for another port",
            )
    every = tuple(sorted({*before, *(one.lower() for one in hosts)}))
    if len(every) > MOST:
        raise ServerError(f"at most {MOST} hosts may be allowed")
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(state / _FILE, msgspec.json.encode(made := Allowed(commit, every)))
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{state / _FILE}': {reason}") from None
    return made
