"""List, add, enable, disable and test addons."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

import click

from bbops.base.console import say
from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError, ProjectError
from bbops.base.json_addons import TestedAddon
from bbops.base.render import one_line, printable
from bbops.interfaces.cli._change import as_json_option, finish, open_change, path_option
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._place import Place
from bbops.interfaces.cli._server import default_server, of_draft, of_project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bbops.edit.authoring.changing import Change
    from bbops.edit.importing.addon import Imported, Source
    from bbops.language.project import Project
    from bbops.runtime.vendors._probe import Connection

SERVER_SECONDS: Final = 60.0
"""How long a server may take for a test: the vendor's 20 seconds, and a draft that wakes up."""
_MARKS: Final = {"breaks": "breaks:", "widens": "widens:", "look": "look:"}


@examples("bbops addon list", "bbops addon enable payments")
@click.group(cls=Family)
def command() -> None:
    """Manage the project's addons, and make any API one.

    Nothing here reads or writes a secret: files name env variables, and 'bbops env set NAME' gives
    these their values.
    """


@examples("bbops addon list", "bbops addon list --catalog")
@command.command("list")
@path_option
@click.option("--catalog", is_flag=True, help="List every addon that bbops has, not the project's.")
@as_json_option
def list_command(folder: Path, *, catalog: bool, as_json: bool) -> None:
    """List the project's addons, with the service that each calls and where its key is made.

    Each line also counts the steps of an addon, and the functions that use them.
    """
    if catalog:
        _list_catalog(as_json=as_json)
        return
    change = open_change(folder)
    from bbops.edit.importing.listing import list_addons  # noqa: PLC0415 - after cheap answers

    found = list_addons(change)
    if as_json:
        say(json.dumps([one.told for one in found]))
        return
    for one in found:
        say(one.line)
    if not found:
        say("no addons; 'bbops addon enable NAME' or 'bbops addon add' makes one")
        say("'bbops addon list --catalog' lists the names")


def _list_catalog(*, as_json: bool) -> None:
    """Print each addon of the catalog with its service."""
    from bbops.language.addons._base import kinds  # noqa: PLC0415 - after cheap answers

    if as_json:
        say(json.dumps([
            {"name": name, "title": kind.title, "text": kind.about, "service": kind.service,
             "keySource": kind.key_source, "hosts": kind.hosts, "steps": list(kind.actions)}
            for name, kind in kinds().items()
        ]))  # fmt: skip
        return
    for name, kind in kinds().items():
        say(f"{name}: {kind.service or 'on the server'}")
        say(f"    {' '.join(filter(None, [kind.summary, kind.key_hint]))}")


@examples(
    "bbops addon add stripe.json --name billing createRefund='POST /v1/refunds'",
    "bbops addon add mcp+https://desk.example.com/mcp --name desk findTicket=find_ticket",
)
@command.command("add")
@click.argument("source", metavar="SOURCE")
@click.argument("steps", nargs=-1, metavar="[STEP=OPERATION]...")
@click.option("--name", required=True, help="The addon's name here, such as billing.")
@click.option("--server", default="", metavar="URL", help="Where the API is, if the document does"
              " not say it.")  # fmt: skip
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE",
              help="Sent when SOURCE is fetched, such as a token. It is not stored.")  # fmt: skip
@click.option("--signers", type=click.Path(path_type=Path), metavar="FILE",
              help="Who may sign the commit: a file of git's allowed signers.")  # fmt: skip
@click.option("--force", is_flag=True, help="Write it even if functions no longer fit.")
@path_option
@as_json_option
def add(
    source: str, steps: tuple[str, ...], name: str, server: str, headers: tuple[str, ...],
    signers: Path | None, folder: Path, *, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Make an addon from SOURCE: an OpenAPI document, an MCP server, or another repository.

    SOURCE is a file or https address of an OpenAPI 3.0 to 3.2 document (JSON up to 20 MB, YAML up
    to 1 MB), or mcp+https://... for an MCP server. Each STEP is a name for an operation, such as
    createRefund='POST /v1/refunds' or an operationId, or for a tool.

    git+https://host/repository@COMMIT#addons/billing copies an addon of another repository, at a
    whole commit id. With --signers, one of them must have signed the commit with an SSH key.

    Run it again to read a new version: files that nobody edited are written again, and what
    breaks, widens or needs a look is printed with the functions concerned.
    """
    change = open_change(folder)
    from bbops.edit.importing.addon import import_addon  # noqa: PLC0415 - after cheap answers

    if source.startswith("git+"):
        found = _copy(change, source.removeprefix("git+"), name, signers, force=force)
        _finish(change, found, force=force, as_json=as_json)
        return
    read = read_source(source, server, pairs(headers, "--header"))
    found = import_addon(change, name, read, pairs(steps, "STEP"))
    _finish(change, found, force=force, as_json=as_json)


def _finish(change: Change, found: Imported, *, force: bool, as_json: bool) -> None:
    """Say what an import does, and write it."""
    if as_json:
        say(json.dumps(told_of(found)))
        change.apply(force=force)
        return
    say_imported(found)
    if change.files:
        finish(change, force=force, as_json=False, cure="change these functions, or add --force")


def _copy(change: Change, source: str, name: str, signers: Path | None, *, force: bool) -> Imported:
    """Copy an addon of another repository into a change."""
    from bbops.edit.importing.copying import copy_addon, read_addon  # noqa: PLC0415 - cheap answers
    from bbops.source.git.address import Address  # noqa: PLC0415
    from bbops.source.git.single import fetched, find_signer  # noqa: PLC0415
    from bbops.source.git.tree import GitTree  # noqa: PLC0415

    head, _, path = source.partition("#")
    url, sign, commit = head.rpartition("@")
    address = Address.parse(url) if sign else None
    if address is None:
        hint = "such as git+https://host/repository@COMMIT#addons/billing"
        raise BbopsError("a repository is named with its commit", hint=hint)
    path = path or f"addons/{name}"
    with fetched(address, commit) as store:
        note = {"git": address.shown, "commit": commit, "path": path}
        if signers is not None:
            note["signedBy"] = find_signer(store, commit, signers)
        copied = read_addon(GitTree(store, commit), path)
    found = copy_addon(change, name, copied, note, force=force)
    if signers is None:
        found.notes.append("nobody's signature was verified: give --signers FILE")
    return found


def pairs(given: tuple[str, ...], what: str) -> dict[str, str]:
    """Return NAME=VALUE arguments.

    Raises:
        BbopsError: one has no '=', or a name comes twice.
    """
    found: dict[str, str] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not (sign and name and value):
            shown = f"{name}=…" if what == "--header" else one[:80]
            raise BbopsError(f"{what} is NAME=VALUE, got '{shown}'")
        if name in found:
            raise BbopsError(f"'{name}' is given twice")
        found[name] = value
    return found


def read_source(source: str, server: str, headers: Mapping[str, str]) -> Source:
    """Return what an addon is made from.

    Raises:
        BbopsError: it cannot be read.
    """
    from bbops.edit.importing.sources import read_openapi, read_tools  # noqa: PLC0415

    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise BbopsError(f"the value of header '{name[:80]}' cannot be sent")
    if source.startswith("mcp+"):
        from bbops.interfaces.client.tools import read_definitions  # noqa: PLC0415 - httpx

        url = source.removeprefix("mcp+")
        if set(url.partition("://")[2]) & set("?#@"):
            hint = "a key belongs into --header, which is not stored"
            raise BbopsError("the address of an MCP server is a host and a path", hint=hint)
        return read_tools(read_definitions(url, headers), url, [*headers])
    if source.startswith(("https://", "http://")):
        from bbops.interfaces.client.outside import fetch  # noqa: PLC0415 - httpx

        return read_openapi(fetch(source, headers), _without_keys(source), server)
    from bbops.edit.importing.files import read_document_file  # noqa: PLC0415

    return read_openapi(read_document_file(Path(source)), Path(source).name, server)


def _without_keys(url: str) -> str:
    """Return an address as git may keep it: a query or a user's name may be a key."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def told_of(found: Imported) -> dict[str, Any]:
    """Return what an import does, for JSON."""
    steps = [
        {"step": f"{found.addon}.{one.name}", "operation": one.operation, "what": one.what,
         "changes": [{"effect": it.effect, "text": it.text} for it in one.changes],
         "functions": list(one.functions), "notes": list(one.notes)}
        for one in found.steps
    ]  # fmt: skip
    return {"addon": found.addon, "steps": steps, "notes": found.notes}


def say_imported(found: Imported) -> None:
    """Print what an import does, step by step."""
    for note in found.notes:
        say(f"note: {one_line(note)}")
    for one in found.steps:
        notes = f" ({'; '.join(map(one_line, one.notes))})" if one.notes else ""
        say(f"{one.what:<7} {found.addon}.{one.name}: {one_line(one.operation)}{notes}")
        for it in one.changes:
            say(f"    {_MARKS[it.effect]} {one_line(it.text)}")
        if one.changes and one.functions:
            say(f"    used by {', '.join(one.functions)}")


@examples("bbops addon enable payments")
@command.command("enable")
@click.argument("name")
@path_option
@as_json_option
def enable(name: str, folder: Path, *, as_json: bool) -> None:
    """Enable an addon; one of the catalog that is not there yet gets its file."""
    change = open_change(folder)
    from bbops.edit.importing.switching import switch_on  # noqa: PLC0415 - after cheap answers
    from bbops.language.addons._base import kind as addon_kind  # noqa: PLC0415 - see above

    variables = switch_on(change, name)
    if not change.files and not as_json:
        say(f"{printable(name)} is already enabled")
        return
    finish(change, as_json=as_json, more={"env": variables})
    if as_json:
        return
    for variable in variables:
        say(f"next: bbops env set {variable}")
    kind = addon_kind(name)
    if kind is not None and variables:
        say(kind.key_hint)


@examples("bbops addon disable payments")
@command.command("disable")
@click.argument("name")
@path_option
@as_json_option
def disable(name: str, folder: Path, *, as_json: bool) -> None:
    """Disable an addon. Its configuration stays; its steps fail with 'addon-disabled'."""
    change = open_change(folder)
    from bbops.edit.importing.switching import switch_off  # noqa: PLC0415 - after cheap answers

    failing = switch_off(change, name)
    if change.files or as_json:
        finish(change, as_json=as_json, more={"failing": failing})
    else:
        say(f"{printable(name)} is not enabled")
    if failing and not as_json:
        say(f"these fail with 'addon-disabled' now: {', '.join(failing)}")


@examples("bbops addon test", "bbops addon test payments --server")
@command.command("test")
@click.argument("name", default="")
@path_option
@click.option(
    "--server", is_flag=False, flag_value="", default=None, metavar="[URL]",
    help="Test NAME at the server, with the values that it has; without URL at that of this"
    " folder.",
)  # fmt: skip
@of_project
@of_draft
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def test(
    name: str, folder: Path, server: str | None, project: str | None, draft: str | None, *,
    as_json: bool,
) -> None:  # fmt: skip
    """Test the connection of an addon, or of all that are enabled.

    Values of env variables come from this shell: PAYMENTS_SECRET_KEY=... bbops addon test payments.
    With --server, the server tests NAME as it is live, or with --draft as that draft has it, with
    the values of drafts: at most ten times a minute. It only reads. Exit status 1 if one does not
    work.
    """
    if server is not None or project or draft:
        _test_at(Place(project, draft, server or default_server(), as_json), name)
        return
    change = open_change(folder)
    import asyncio  # noqa: PLC0415 - after the cheap answers

    from bbops.build.check import validate  # noqa: PLC0415

    read, found = validate(change.folder.tree, base=change.folder.tree)
    if read is None:
        raise ProjectError([one for one in found if one.severity == "error"])
    if name and name not in read.addons:
        hint = suggest(name, read.addons) or "'bbops addon list' shows those there are"
        raise BbopsError(f"the project has no addon '{name[:80]}'", hint=hint)
    enabled = [one for one, addon in read.addons.items() if addon.model.enabled]
    results = asyncio.run(_try(read, [name] if name else enabled))
    if as_json:
        say(json.dumps([{"addon": one, "state": result.state, "text": result.text}
                        for one, result in results.items()]))  # fmt: skip
    else:
        for one, result in results.items():
            say(f"{one}: {one_line(result.text)}")
        if not results:
            say("no addon is enabled")
    if any(result.is_wrong for result in results.values()):
        raise SystemExit(1)


def _test_at(place: Place, name: str) -> None:
    """Have a server test an addon."""
    if not name:
        hint = "such as 'bbops addon test payments --server'"
        raise BbopsError("a server tests one addon at a time", hint=hint)
    found = place.change("addons/test", TestedAddon, {"addon": name}, seconds=SERVER_SECONDS)
    place.show(found, f"{printable(found.addon)}: {one_line(found.text)}")
    if found.is_wrong:
        raise SystemExit(1)


async def _try(project: Project, names: list[str]) -> dict[str, Connection]:
    from bbops.build.testing.connections import try_addon  # noqa: PLC0415
    from bbops.interfaces.client.outside import Outside, OwnClock  # noqa: PLC0415 - httpx

    door = Outside()
    try:
        return {
            name: await try_addon(project, name, os.environ.get, door, OwnClock()) for name in names
        }
    finally:
        await door.close()
