"""What has to be done so that a client finds a server, as steps that an agent carries out.

Nothing is written by making them. A step names the file as it was looked at, so that who carries it
out sees whether it has changed in the meantime.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.clients._base import Client, find_clients
from bbops.interfaces.mcp.installing.files import (
    put,
    read_content,
    read_entry,
    with_block,
    with_entry,
)

NAME: Final = "bbops"
"""What a server is called in a client's file, where nobody says otherwise."""
GUIDE: Final = "AGENTS.md"
_NAMED: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}").fullmatch
Kind = Literal["merge_file", "write_file", "ask_user"]


class Step(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One thing to do.

    Attributes:
        id: unique among the steps.
        kind: `merge_file` puts `patch` under `keys` of a file and keeps the rest; `write_file`
            gives a file the content `text`; `ask_user` is for the person.
        path: the file, from the workspace, or `~/…`.
        digest: SHA-256 of the file as it was looked at; empty where there was none.
        done: whether it is as it should be already.
    """

    id: str
    kind: Kind
    title: str
    done: bool
    path: str = ""
    format: str = ""
    keys: tuple[str, ...] = ()
    patch: dict[str, str] | None = None
    text: str = ""
    digest: str = ""


def find_used(workspace: Path) -> dict[str, Client]:
    """Return the clients that seem to be used here."""
    return {name: one for name, one in find_clients().items() if one.is_used(workspace)}


def choose(names: Sequence[str], workspace: Path) -> dict[str, Client]:
    """Return the clients that are meant: by name, or those that seem to be used here.

    Raises:
        BbopsError: there is none of a name, or none seems to be used.
    """
    known = find_clients()
    if unknown := [one for one in names if one not in known]:
        raise BbopsError(f"unknown client '{unknown[0]}'", hint=f"one of {', '.join(known)}")
    if names:
        return {name: known[name] for name in names}
    used = find_used(workspace)
    if not used:
        raise BbopsError(
            "no client was found",
            hint=f"name one with --client: {', '.join(known)}",
        )
    return used


def check_name(name: str) -> str:
    """Return the name of a server. Raises: BbopsError: it is none."""
    if not _NAMED(name):
        raise BbopsError(f"'{name[:60]}' is not a valid server name", hint="write a-z, 0-9 and '-'")
    return name


def plan(
    workspace: Path, clients: Mapping[str, Client], url: str, *, name: str = NAME,
    files: Mapping[str, str] | None = None, guide: str = "", in_workspace_only: bool = False,
) -> list[Step]:  # fmt: skip
    """Return what has to be done in a workspace.

    Args:
        workspace: its folder.
        clients: what is to find the server.
        url: the server's address.
        name: what it is called.
        files: texts by path in a folder of skills.
        guide: our part of AGENTS.md; empty for none.
        in_workspace_only: leaves files in the home folder to the person.
    """
    steps = [
        _entry(workspace, at, one, url, name, in_workspace_only)
        for at, one in clients.items()
    ]  # fmt: skip
    folders = dict.fromkeys(one.skills for one in clients.values())
    for folder in folders:
        steps += _skills(workspace, folder, files or {})
    if guide:
        steps.append(_guide(workspace, guide))
    steps += [
        Step(f"sign-in-{at}", "ask_user", f"Sign in from {one.title}: {one.sign_in}", done=False)
        for at, one in clients.items()
    ]
    return steps


def _entry(
    workspace: Path, at: str, client: Client, url: str, name: str, in_workspace_only: bool
) -> Step:  # fmt: skip
    entry, keys = client.entry(url), (*client.keys, name)
    if in_workspace_only and not client.is_of_workspace:
        shown = msgspec.json.format(msgspec.json.encode({".".join(keys): entry})).decode()
        title = f"Add the server to {client.file}, which is the person's own: {shown}"
        return Step(f"configure-{at}", "ask_user", title, done=False)
    text = read_content(client.path(workspace))
    done = bool(text) and read_entry(client, text or "", name) == entry
    return Step(
        f"configure-{at}", "merge_file", f"Tell {client.title} where the server is", done=done,
        path=client.file, format=client.form, keys=keys, patch=entry, digest=_digest(text),
    )  # fmt: skip


def _skills(workspace: Path, folder: str, files: Mapping[str, str]) -> Iterator[Step]:
    for path, text in files.items():
        there = read_content(workspace / folder / path)
        slug = re.sub(r"[^a-z0-9]+", "-", f"{folder}/{path}".lower()).strip("-")
        yield Step(
            slug, "write_file", f"Give agents the skill {path.partition('/')[0]}",
            done=there == text, path=f"{folder}/{path}", text=text, digest=_digest(there),
        )  # fmt: skip


def _guide(workspace: Path, guide: str) -> Step:
    text = read_content(workspace / GUIDE)
    wanted = with_block(text or "", guide)
    return Step(
        "guide", "write_file", f"Tell agents in {GUIDE} how to change this project",
        done=text == wanted, path=GUIDE, text=wanted, digest=_digest(text),
    )  # fmt: skip


def _digest(text: str | None) -> str:
    return sha256(text.encode()).hexdigest() if text is not None else ""


def carry_out(workspace: Path, steps: Sequence[Step]) -> list[Step]:
    """Do what can be done without a person; return the steps as they are then.

    Raises:
        BbopsError: a file has changed in the meantime, leads elsewhere, or cannot be written.
    """
    return [_do(workspace, one) for one in steps]


def _do(workspace: Path, step: Step) -> Step:
    if step.done or step.kind == "ask_user":
        return step
    home = step.path.startswith("~/")
    root = Path.home() if home else workspace
    path = root / step.path.removeprefix("~/")
    text = read_content(path)
    if _digest(text) != step.digest:
        raise BbopsError(f"'{step.path}' has changed in the meantime", hint="do it again")
    if step.kind == "merge_file":
        made = with_entry(step.format, text or "", step.keys, step.patch or {})
    else:
        made = step.text
    put(root, path, made)
    return msgspec.structs.replace(step, done=True)


def as_json(steps: Sequence[Step]) -> Any:
    """Return steps as JSON values."""
    return msgspec.to_builtins(steps)
