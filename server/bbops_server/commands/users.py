"""Add, invite and change the people of a server, on its own machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bbops.base.errors import BbopsError
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops_server.commands._book import (
    LOCAL,
    as_json,
    find_person,
    open_book,
    read_password,
    read_running,
    tell,
)
from bbops_server.commands._projects import where_state

if TYPE_CHECKING:
    from bbops_server.accounts.book import Book
    from bbops_server.accounts.people import Person

ROLES = ("viewer", "developer", "maintainer", "owner")
of_role = click.option(
    "--role", type=click.Choice(ROLES), default="developer", show_default=True, help="Their role."
)
in_project = click.option(
    "--project", default="", metavar="NAME", help="The role applies to this project only."
)


@examples("bbops users list", "bbops users add bob@example.com --role developer --generate")
@click.group("users", cls=CommandGroup)
def command() -> None:
    """Add, invite and manage the users of a server.

    Works on the server's own machine, also while it runs; users of the machine who can read the
    state folder own the server. The page /people of its control plane does the same.
    """


@examples("bbops users list")
@command.command("list")
@where_state
@as_json
def list_users(state: Path | None, *, as_json: bool) -> None:
    """List the users of a server, with their roles."""
    with open_book(state) as book:
        roles = book.members.roles_of_all()
        people = [(one, *roles.get(one.id, (None, {}))) for one in book.people.list()]
    if as_json:
        click.echo(json.dumps({"people": [
            {
                "email": one.email, "name": one.name, "role": role, "projects": dict(own),
                "disabled": one.disabled is not None,
                "last_sign_in": one.last_sign_in and one.last_sign_in.isoformat(),
            } for one, role, own in people
        ]}))  # fmt: skip
        return
    for one, role, own in people:
        roles_told = [str(role or "no role"), *(f"{what} of {name}" for name, what in own.items())]
        out = "  kept out" if one.disabled else ""
        click.echo(f"{one.email}  {printable(one.name)}  {', '.join(roles_told)}{out}")
    if not people:
        click.echo("no users yet; add one with 'bbops users add EMAIL --role owner'")


@examples("bbops users add bob@example.com --role developer --generate")
@command.command("add")
@click.argument("email")
@click.option("--name", default="", help="Their name.")
@of_role
@click.option("--generate", is_flag=True, help="Generate a password and print it.")
@where_state
@as_json
def add_user(
    email: str, name: str, role: str, state: Path | None, *, generate: bool, as_json: bool
) -> None:
    """Create an account; the password is read from a prompt or a pipe."""
    from bbops.runtime.auth.passwords import hash_password  # noqa: PLC0415 - after --help
    from bbops_server.accounts.people import NewPerson  # noqa: PLC0415
    from bbops_server.accounts.rules import Role  # noqa: PLC0415
    from bbops_server.accounts.text_rules import check_password  # noqa: PLC0415

    password, is_new = read_password(generate=generate)
    check_password(password, email)
    hashed = asyncio.run(hash_password(password))
    with open_book(state) as book:
        new = NewPerson(email, name, "", hashed, is_verified=True, role=Role(role))
        person = book.people.add(new)
        book.audit.add("add", who=LOCAL, object=f"{person.email} as {role}")
    shown = {"password": password} if is_new else {}
    text = f"{person.email} is {role}" + (f"; the password is {password}" if is_new else "")
    tell(text, as_json=as_json, email=person.email, role=role, **shown)


@examples("bbops users invite bob@example.com --role developer")
@command.command("invite")
@click.argument("email")
@of_role
@in_project
@where_state
@as_json
def invite_user(email: str, role: str, project: str, state: Path | None, *, as_json: bool) -> None:
    """Print an invitation link for EMAIL; it is valid for a week and can be used once."""
    from bbops_server.accounts.rules import Role  # noqa: PLC0415 - after --help

    with open_book(state) as book:
        key, made = book.invitations.make(email, Role(role), invited_by=LOCAL, project=project)
        book.audit.add("invite", who=LOCAL, object=f"{made.email} as {role} {project}".strip())
    base = read_running(state).get("shown", "http://127.0.0.1:8001")
    link = f"{base}/signup?invitation={key}"
    tell(f"send this link to {made.email}:\n\n    {link}", as_json=as_json, email=email, url=link)


@examples("bbops users role bob@example.com maintainer --project shop")
@command.command("role")
@click.argument("email")
@click.argument("role", type=click.Choice([*ROLES, "none"]))
@in_project
@where_state
@as_json
def change_role(email: str, role: str, project: str, state: Path | None, *, as_json: bool) -> None:
    """Set a user's role in the whole workspace or in one project; 'none' removes it."""
    from bbops_server.accounts.rules import Role  # noqa: PLC0415 - after --help

    with open_book(state) as book:
        person = find_person(book, email)
        book.members.set_role(person.id, None if role == "none" else Role(role), project)
        where = f" in {project}" if project else ""
        book.audit.add("change role", who=LOCAL, object=f"{person.email}: {role}{where}")
    tell(
        f"{person.email} is {role}{where}", as_json=as_json, email=person.email, role=role,
        project=project,
    )  # fmt: skip


@examples("bbops users disable bob@example.com", "bbops users disable bob@example.com --undo")
@command.command("disable")
@click.argument("email")
@click.option("--undo", is_flag=True, help="Enable the account again.")
@where_state
@as_json
def disable_user(email: str, state: Path | None, *, undo: bool, as_json: bool) -> None:
    """Disable an account: its sessions end and its tokens stop working."""
    with open_book(state) as book:
        person = find_person(book, email)
        book.people.disable(person.id, disabled=not undo)
        book.audit.add("enable" if undo else "disable", who=LOCAL, object=person.email)
    text = f"{person.email} can sign in again" if undo else f"{person.email} is disabled"
    tell(text, as_json=as_json, email=person.email, disabled=not undo)


@examples("bbops users reset-password bob@example.com --generate")
@command.command("reset-password")
@click.argument("email")
@click.option("--generate", is_flag=True, help="Generate a password and print it.")
@where_state
@as_json
def reset_password(email: str, state: Path | None, *, generate: bool, as_json: bool) -> None:
    """Set a new password, read from a prompt or a pipe. All sessions of the user end."""
    from bbops.runtime.auth.passwords import hash_password  # noqa: PLC0415 - after --help
    from bbops_server.accounts.text_rules import check_password  # noqa: PLC0415

    with open_book(state) as book:
        person = find_person(book, email)
        password, is_new = read_password(generate=generate)
        check_password(password, person.email)
        book.people.set_password(person.id, asyncio.run(hash_password(password)))
        book.audit.add("reset password", who=LOCAL, object=person.email)
    shown = {"password": password} if is_new else {}
    told = f"; it is {password}" if is_new else ""
    tell(
        f"the password of {person.email} is changed{told}", as_json=as_json, email=person.email,
        **shown,
    )  # fmt: skip


@examples(
    "bbops users tokens bob@example.com",
    "bbops users tokens bob@example.com --new laptop --scope git",
)
@command.command("tokens")
@click.argument("email")
@click.option("--revoke", default="", metavar="ID", help="Revoke this token.")
@click.option(
    "--new", default="", metavar="NAME", help="Create a token with this name, and print it once."
)
@click.option(
    "--scope", "scopes", multiple=True, type=click.Choice(("read", "deploy", "admin", "git")),
    help="The scope of the new token; can be repeated. By default git and deploy.",
)  # fmt: skip
@click.option("--days", default=90, show_default=True, help="How long the new token is valid.")
@where_state
@as_json
def list_tokens(
    email: str, revoke: str, new: str, scopes: tuple[str, ...], days: int, state: Path | None, *,
    as_json: bool,
) -> None:  # fmt: skip
    """List a user's access tokens, without their secrets; create or revoke one."""
    with open_book(state) as book:
        person = find_person(book, email)
        if new:
            _make_token(book, person, new, scopes or ("git", "deploy"), days, as_json=as_json)
            return
        if revoke:
            if not book.tokens.revoke(person.id, revoke):
                raise BbopsError(f"{person.email} has no token '{revoke}'")
            book.audit.add("revoke token", who=LOCAL, object=revoke)
        found = book.tokens.list(person.id)
    if as_json:
        tokens = [
            {
                "id": token.id, "name": token.name, "prefix": token.prefix,
                "scopes": list(token.scopes), "project": token.project,
                "expires": token.expires and token.expires.isoformat(),
            }
            for token in found
        ]  # fmt: skip
        click.echo(json.dumps({"tokens": tokens}))
        return
    for token in found:
        ends = f"until {token.expires:%Y-%m-%d}" if token.expires else "does not expire"
        what = f"{' '.join(token.scopes)}  {ends}  {printable(token.name)}"
        click.echo(f"{token.id}  {token.prefix}…  {what}")
    if not found:
        click.echo(f"{person.email} has no tokens")


def _make_token(
    book: Book, person: Person, name: str, scopes: Sequence[str], days: int, *, as_json: bool
) -> None:
    from bbops_server.accounts.rules import Scope  # noqa: PLC0415 - after --help

    key, made = book.tokens.make(person.id, name, map(Scope, scopes), days=days)
    book.audit.add("make token", who=LOCAL, object=f"{person.email} {made.prefix}")
    tell(key, as_json=as_json, id=made.id, token=key)
