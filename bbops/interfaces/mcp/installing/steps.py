"""Plan and carry out the steps that configure clients for a server.

Planning writes nothing. A step has the digest of its file, to detect a change before it is carried
out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.clients import CLIENTS, McpClient
from bbops.interfaces.mcp.installing.files import (
    put,
    read_content,
    read_entry,
    with_block,
    with_entry,
)

NAME: Final = "bbops"
"""The default name of a server in a client's file."""
GUIDE: Final = "AGENTS.md"
_NAMED: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}").fullmatch
Kind = Literal["merge_file", "write_file", "ask_user"]


class InstallStep(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A step of the installation.

    Attributes:
        id: unique among the steps.
        kind: `merge_file` sets `patch` under `keys` of a file and keeps the rest; `write_file`
            gives a file the content `text`; `ask_user` is for the user.
        path: the file, relative to the workspace, or `~/…`.
        digest: SHA-256 of the file when the step was planned; empty without a file.
        done: whether nothing is left to do.
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


def find_used(workspace: Path) -> dict[str, McpClient]:
    """Return the clients that seem to be used here."""
    return {name: item for name, item in CLIENTS.items() if item.is_used(workspace)}


def choose(names: Sequence[str], workspace: Path) -> dict[str, McpClient]:
    """Return the clients with the given names, or the clients that seem to be used here.

    Raises:
        BbopsError: a name is unknown, or no client seems to be used.
    """
    known = CLIENTS
    if unknown := [name for name in names if name not in known]:
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
    """Return the name of a server. Raises: BbopsError: the name is not valid."""
    if not _NAMED(name):
        raise BbopsError(f"'{name[:60]}' is not a valid server name", hint="write a-z, 0-9 and '-'")
    return name


def plan(
    workspace: Path, clients: Mapping[str, McpClient], url: str, *, name: str = NAME,
    files: Mapping[str, str] | None = None, guide: str = "", in_workspace_only: bool = False,
) -> list[InstallStep]:  # fmt: skip
    """Return the steps for a workspace.

    Args:
        workspace: its folder.
        clients: the clients to configure.
        url: the server's address.
        name: the server's name in the clients.
        files: texts by path in a folder of skills.
        guide: the guide for AGENTS.md; empty for none.
        in_workspace_only: leave files in the home folder to the user.
    """
    steps = [
        _entry(workspace, client_name, client, url, name, in_workspace_only)
        for client_name, client in clients.items()
    ]  # fmt: skip
    folders = dict.fromkeys(client.skills for client in clients.values())
    for folder in folders:
        steps += _skills(workspace, folder, files or {})
    if guide:
        steps.append(_guide(workspace, guide))
    steps += [
        InstallStep(
            f"sign-in-{key}", "ask_user", f"Sign in from {item.title}: {item.sign_in}", done=False
        )
        for key, item in clients.items()
    ]
    return steps


def _entry(
    workspace: Path, client_name: str, client: McpClient, url: str, name: str,
    in_workspace_only: bool,
) -> InstallStep:  # fmt: skip
    entry, keys = client.entry(url), (*client.keys, name)
    if in_workspace_only and not client.is_of_workspace:
        shown = msgspec.json.format(msgspec.json.encode({".".join(keys): entry})).decode()
        title = f"Add the server to {client.file}, which is the user's own file: {shown}"
        return InstallStep(f"configure-{client_name}", "ask_user", title, done=False)
    text = read_content(client.path(workspace))
    done = bool(text) and read_entry(client, text or "", name) == entry
    return InstallStep(
        f"configure-{client_name}", "merge_file", f"Add the server to {client.title}", done=done,
        path=client.file, format=client.form, keys=keys, patch=entry, digest=_digest(text),
    )  # fmt: skip


def _skills(workspace: Path, folder: str, files: Mapping[str, str]) -> Iterator[InstallStep]:
    for path, text in files.items():
        current = read_content(workspace / folder / path)
        slug = re.sub(r"[^a-z0-9]+", "-", f"{folder}/{path}".lower()).strip("-")
        yield InstallStep(
            slug, "write_file", f"Give agents the skill {path.partition('/')[0]}",
            done=current == text, path=f"{folder}/{path}", text=text, digest=_digest(current),
        )  # fmt: skip


def _guide(workspace: Path, guide: str) -> InstallStep:
    text = read_content(workspace / GUIDE)
    updated = with_block(text or "", guide)
    return InstallStep(
        "guide", "write_file", f"Tell agents in {GUIDE} how to change this project",
        done=text == updated, path=GUIDE, text=updated, digest=_digest(text),
    )  # fmt: skip


def _digest(text: str | None) -> str:
    return sha256(text.encode()).hexdigest() if text is not None else ""


def carry_out(workspace: Path, steps: Sequence[InstallStep]) -> list[InstallStep]:
    """Carry out the steps that need no user; return the steps with their new state.

    Raises:
        BbopsError: a file has changed in the meantime, is a link, or cannot be written.
    """
    return [_carry_out(workspace, step) for step in steps]


def _carry_out(workspace: Path, step: InstallStep) -> InstallStep:
    if step.done or step.kind == "ask_user":
        return step
    is_home = step.path.startswith("~/")
    root = Path.home() if is_home else workspace
    path = root / step.path.removeprefix("~/")
    text = read_content(path)
    if _digest(text) != step.digest:
        raise BbopsError(f"'{step.path}' has changed in the meantime", hint="run it again")
    if step.kind == "merge_file":
        content = with_entry(step.format, text or "", step.keys, step.patch or {})
    else:
        content = step.text
    put(root, path, content)
    return msgspec.structs.replace(step, done=True)


def as_json(steps: Sequence[InstallStep]) -> Any:
    """Return steps as JSON values."""
    return msgspec.to_builtins(steps)
