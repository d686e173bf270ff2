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
from bbops.base.json_work import TestedAddon
from bbops.base.render import one_line, printable
from bbops.interfaces.cli._change import apply_change, as_json_option, open_change, path_option
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._server import of_draft, of_project, require_default_server
from bbops.interfaces.cli._target import ProjectTarget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bbops.edit.authoring.changing import Change
    from bbops.edit.importing.addon import Imported, Source
    from bbops.language.project import Project
    from bbops.runtime.vendors._probe import Connection

SERVER_SECONDS: Final = 60.0
"""The timeout of a test by the server: the vendor has 20 seconds, and a draft may have to start."""
_MARKS: Final = {"breaks": "breaks:", "widens": "widens:", "look": "look:"}


@examples("bbops addon list", "bbops addon enable payments")
@click.group(cls=CommandGroup)
def command() -> None:
    """Manage the project's addons, and make an addon of any API.

    No command here reads or writes a secret: files name env variables, and 'bbops env set NAME'
    gives these their values.
    """


@examples("bbops addon list", "bbops addon list --catalog")
@command.command("list")
@path_option
@click.option("--catalog", is_flag=True, help="List every addon that bbops has, not the project's.")
@as_json_option
def list_command(folder: Path, *, catalog: bool, as_json: bool) -> None:
    """List the project's addons, with the service that each calls and the place to create its key.

    Each line also counts the steps of an addon, and the functions that use them.
    """
    if catalog:
        _list_catalog(as_json=as_json)
        return
    change = open_change(folder)
    from bbops.edit.importing.listing import list_addons  # noqa: PLC0415 - after cheap answers

    addons = list_addons(change)
    if as_json:
        say(json.dumps([addon.told for addon in addons]))
        return
    for addon in addons:
        say(addon.line)
    if not addons:
        say("no addons; 'bbops addon enable NAME' or 'bbops addon add' creates one")
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
@click.option("--server", default="", metavar="URL", help="The URL of the API, if the document does"
              " not contain it.")  # fmt: skip
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE",
              help="Sent when SOURCE is fetched, such as a token. It is not stored.")  # fmt: skip
@click.option("--signers", type=click.Path(path_type=Path), metavar="FILE",
              help="Who may sign the commit: a file of git's allowed signers.")  # fmt: skip
@click.option("--force", is_flag=True, help="Write it even if functions no longer match.")
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

    Run it again to read a new version: files without edits are written again, and each change that
    breaks, widens or needs a look is printed with the functions concerned.
    """
    change = open_change(folder)
    from bbops.edit.importing.addon import import_addon  # noqa: PLC0415 - after cheap answers

    if source.startswith("git+"):
        imported = _copy(change, source.removeprefix("git+"), name, signers, force=force)
        _finish(change, imported, force=force, as_json=as_json)
        return
    document = read_source(source, server, parse_pairs(headers, "--header"))
    imported = import_addon(change, name, document, parse_pairs(steps, "STEP"))
    _finish(change, imported, force=force, as_json=as_json)


def _finish(change: Change, imported: Imported, *, force: bool, as_json: bool) -> None:
    """Print the effects of an import, and write it."""
    if as_json:
        say(json.dumps(import_as_json(imported)))
        change.apply(force=force)
        return
    print_import(imported)
    if change.files:
        hint = "change these functions, or add --force"
        apply_change(change, force=force, as_json=False, hint=hint)


def _copy(change: Change, source: str, name: str, signers: Path | None, *, force: bool) -> Imported:
    """Copy an addon of another repository into a change."""
    from bbops.edit.importing.copying import copy_addon, read_addon  # noqa: PLC0415 - cheap answers
    from bbops.source.git.address import Address  # noqa: PLC0415
    from bbops.source.git.single import fetched, find_signer  # noqa: PLC0415
    from bbops.source.git.store import GitTree  # noqa: PLC0415

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
    imported = copy_addon(change, name, copied, note, force=force)
    if signers is None:
        imported.notes.append("the commit's signature was not verified: give --signers FILE")
    return imported


def parse_pairs(arguments: tuple[str, ...], option: str) -> dict[str, str]:
    """Return NAME=VALUE arguments as a dictionary.

    Raises:
        BbopsError: an argument has no '=', or a name is repeated.
    """
    pairs: dict[str, str] = {}
    for argument in arguments:
        name, sign, value = argument.partition("=")
        if not (sign and name and value):
            shown = f"{name}=…" if option == "--header" else argument[:80]
            raise BbopsError(f"{option} is NAME=VALUE, got '{shown}'")
        if name in pairs:
            raise BbopsError(f"'{name}' is given twice")
        pairs[name] = value
    return pairs


def read_source(source: str, server: str, headers: Mapping[str, str]) -> Source:
    """Return the source of an addon: an OpenAPI document, or the tools of an MCP server.

    Raises:
        BbopsError: the source cannot be read.
    """
    from bbops.edit.importing.sources import read_openapi, read_tools  # noqa: PLC0415

    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise BbopsError(f"the value of header '{name[:80]}' cannot be sent")
    if source.startswith("mcp+"):
        from bbops.interfaces.client.external import read_definitions  # noqa: PLC0415 - httpx

        url = source.removeprefix("mcp+")
        if set(url.partition("://")[2]) & set("?#@"):
            hint = "put the key into --header, which is not stored"
            raise BbopsError("the address of an MCP server is a host and a path", hint=hint)
        return read_tools(read_definitions(url, headers), url, [*headers])
    if source.startswith(("https://", "http://")):
        from bbops.interfaces.client.external import fetch  # noqa: PLC0415 - httpx

        return read_openapi(fetch(source, headers), _without_keys(source), server)
    from bbops.edit.importing.sources import read_document_file  # noqa: PLC0415

    return read_openapi(read_document_file(Path(source)), Path(source).name, server)


def _without_keys(url: str) -> str:
    """Return an address that can be committed: without query and user, which may be keys."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def import_as_json(imported: Imported) -> dict[str, Any]:
    """Return the effects of an import as JSON values."""
    steps = [
        {"step": f"{imported.addon}.{step.name}", "operation": step.operation, "what": step.what,
         "changes": [{"effect": change.effect, "text": change.text} for change in step.changes],
         "functions": list(step.functions), "notes": list(step.notes)}
        for step in imported.steps
    ]  # fmt: skip
    return {"addon": imported.addon, "steps": steps, "notes": imported.notes}


def print_import(imported: Imported) -> None:
    """Print the effects of an import, step by step."""
    for note in imported.notes:
        say(f"note: {one_line(note)}")
    for step in imported.steps:
        notes = f" ({'; '.join(map(one_line, step.notes))})" if step.notes else ""
        say(f"{step.what:<7} {imported.addon}.{step.name}: {one_line(step.operation)}{notes}")
        for change in step.changes:
            say(f"    {_MARKS[change.effect]} {one_line(change.text)}")
        if step.changes and step.functions:
            say(f"    used by {', '.join(step.functions)}")


@examples("bbops addon enable payments")
@command.command("enable")
@click.argument("name")
@path_option
@as_json_option
def enable(name: str, folder: Path, *, as_json: bool) -> None:
    """Enable an addon; if it is only in the catalog, also create its file."""
    change = open_change(folder)
    from bbops.edit.importing.listing import switch_on  # noqa: PLC0415 - after cheap answers
    from bbops.language.addons._base import kind as addon_kind  # noqa: PLC0415 - see above

    variables = switch_on(change, name)
    if not change.files and not as_json:
        say(f"{printable(name)} is already enabled")
        return
    apply_change(change, as_json=as_json, more={"env": variables})
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
    from bbops.edit.importing.listing import switch_off  # noqa: PLC0415 - after cheap answers

    failing = switch_off(change, name)
    if change.files or as_json:
        apply_change(change, as_json=as_json, more={"failing": failing})
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
    help="Test NAME on the server, with its values; without URL on the server of this"
    " folder.",
)  # fmt: skip
@of_project
@of_draft
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def test(
    name: str, folder: Path, server: str | None, project: str | None, draft: str | None, *,
    as_json: bool,
) -> None:  # fmt: skip
    """Test the connection of an addon, or of all enabled addons.

    Values of env variables come from this shell: PAYMENTS_SECRET_KEY=... bbops addon test payments.
    With --server, the server tests the live addon NAME with live values, or with --draft the addon
    of that draft with the values of drafts: at most ten times a minute. A test only reads. Exit
    status 1 if a test fails.
    """
    if server is not None or project or draft:
        url = server or require_default_server()
        _test_on_server(ProjectTarget(project, draft, url, as_json), name)
        return
    change = open_change(folder)
    import asyncio  # noqa: PLC0415 - after the cheap answers

    from bbops.compiler.check import validate  # noqa: PLC0415

    checked, diagnostics = validate(change.folder.tree, base=change.folder.tree)
    if checked is None:
        raise ProjectError([item for item in diagnostics if item.severity == "error"])
    if name and name not in checked.addons:
        hint = suggest(name, checked.addons) or "'bbops addon list' shows the addons"
        raise BbopsError(f"the project has no addon '{name[:80]}'", hint=hint)
    enabled = [addon for addon, entry in checked.addons.items() if entry.model.enabled]
    results = asyncio.run(_test_addons(checked, [name] if name else enabled))
    if as_json:
        say(json.dumps([{"addon": addon, "state": result.state, "text": result.text}
                        for addon, result in results.items()]))  # fmt: skip
    else:
        for addon, result in results.items():
            say(f"{addon}: {one_line(result.text)}")
        if not results:
            say("no addon is enabled")
    if any(result.is_wrong for result in results.values()):
        raise SystemExit(1)


def _test_on_server(target: ProjectTarget, name: str) -> None:
    """Have a server test an addon."""
    if not name:
        hint = "such as 'bbops addon test payments --server'"
        raise BbopsError("a server tests one addon at a time", hint=hint)
    result = target.change("addons/test", TestedAddon, {"addon": name}, seconds=SERVER_SECONDS)
    target.print(result, f"{printable(result.addon)}: {one_line(result.text)}")
    if result.is_wrong:
        raise SystemExit(1)


async def _test_addons(project: Project, names: list[str]) -> dict[str, Connection]:
    from bbops.compiler.testing.environment import try_addon  # noqa: PLC0415
    from bbops.interfaces.client.external import ExternalClient, LocalClock  # noqa: PLC0415 - httpx

    client = ExternalClient()
    try:
        return {
            name: await try_addon(project, name, os.environ.get, client, LocalClock())
            for name in names
        }
    finally:
        await client.close()
