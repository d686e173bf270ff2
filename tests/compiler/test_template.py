"""The project that `bbops init` copies: it has no mistakes, and it works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.compile.release import build
from bbops.compiler.testing.client import Client, serve
from bbops.source.tree import FolderTree
from tests.conftest import ENV, TEMPLATE, run

ADA = {"email": "Ada@Example.com", "password": "correct horse", "name": " Ada "}


@pytest.fixture(scope="module")
def template() -> FolderTree:
    return FolderTree(TEMPLATE)


def test_the_template_has_no_mistakes(template: FolderTree) -> None:
    assert build(template).diagnostics == ()


def test_every_secret_of_the_template_is_generated(template: FolderTree) -> None:
    project = build(template).project
    assert project is not None
    assert all(v.may_be_missing for v in project.settings.model.env.values())


def story(template: FolderTree, tmp_path: Path, tell: Any) -> Any:
    async def whole() -> Any:
        async with serve(template, tmp_path / "data.sqlite", ENV) as client:
            return await tell(client)

    return run(whole())


async def sign_up(client: Client, **change: str) -> dict[str, str]:
    reply = await client.ask("POST", "/api/auth/register", ADA | change)
    assert reply.status == 201, reply.body
    return {"authorization": f"Bearer {reply.json['token']}"}


@pytest.mark.long
def test_a_person_signs_up_signs_in_and_asks_who_they_are(
    template: FolderTree, tmp_path: Path
) -> None:
    async def tell(client: Client) -> None:
        await sign_up(client)
        login = await client.ask(
            "POST", "/api/auth/login", {k: ADA[k] for k in ("email", "password")}
        )
        assert login.status == 200
        me = await client.ask(
            "GET", "/api/me", headers={"authorization": f"Bearer {login.json['token']}"}
        )
        assert me.status == 200
        assert (me.json["email"], me.json["name"]) == ("ada@example.com", "Ada")
        assert "password_hash" not in me.json
        assert me.headers["x-release"] == "0123456789ab"

    story(template, tmp_path, tell)


@pytest.mark.long
def test_wrong_passwords_and_unknown_people_get_the_same_answer(
    template: FolderTree, tmp_path: Path
) -> None:
    async def tell(client: Client) -> None:
        await sign_up(client)
        wrong = await client.ask(
            "POST", "/api/auth/login", {"email": ADA["email"], "password": "x"}
        )
        nobody = await client.ask("POST", "/api/auth/login", {"email": "b@c.de", "password": "x"})
        assert wrong.status == nobody.status == 401
        assert wrong.body == nobody.body

    story(template, tmp_path, tell)


@pytest.mark.long
def test_an_email_signs_up_once(template: FolderTree, tmp_path: Path) -> None:
    async def tell(client: Client) -> None:
        await sign_up(client)
        again = await client.ask("POST", "/api/auth/register", ADA)
        assert again.status == 409
        assert again.json == {
            "error": {"code": "conflict", "message": "This email is already registered"}
        }

    story(template, tmp_path, tell)


def test_a_bad_registration_lists_every_wrong_field(template: FolderTree, tmp_path: Path) -> None:
    async def tell(client: Client) -> None:
        reply = await client.ask(
            "POST", "/api/auth/register", {"email": "nope", "password": "short"}
        )
        assert reply.status == 400
        assert reply.json["error"]["code"] == "invalidInput"
        assert set(reply.json["error"]["fields"]) == {"email", "password", "name"}

    story(template, tmp_path, tell)


@pytest.mark.long
def test_notes_belong_to_the_person_who_wrote_them(template: FolderTree, tmp_path: Path) -> None:
    async def tell(client: Client) -> None:
        ada, bob = await sign_up(client), await sign_up(client, email="bob@example.com")
        made = await client.ask("POST", "/api/v1/notes", {"title": "Mine"}, headers=ada)
        assert made.status == 201
        path = f"/api/v1/notes/{made.json['id']}"
        assert (await client.ask("GET", path, headers=ada)).json["title"] == "Mine"
        assert (await client.ask("GET", path, headers=bob)).status == 404
        assert (await client.ask("PATCH", path, {"done": True}, headers=bob)).status == 404
        assert (await client.ask("DELETE", path, headers=bob)).status == 404
        changed = await client.ask("PATCH", path, {"done": True}, headers=ada)
        assert (changed.json["done"], changed.json["title"]) == (True, "Mine")
        assert changed.json["updated_at"] >= made.json["updated_at"]
        listed = await client.ask("GET", "/api/v1/notes?done=true&perPage=5", headers=ada)
        assert [note["title"] for note in listed.json["notes"]] == ["Mine"]
        assert (await client.ask("GET", "/api/v1/notes?done=false", headers=ada)).json[
            "notes"
        ] == []
        assert (await client.ask("DELETE", path, headers=ada)).status == 204
        assert (await client.ask("GET", path, headers=ada)).status == 404

    story(template, tmp_path, tell)


def test_notes_need_a_token_and_a_living_account(template: FolderTree, tmp_path: Path) -> None:
    async def tell(client: Client) -> None:
        assert (await client.ask("GET", "/api/v1/notes")).status == 401
        ada = await sign_up(client)
        await client.database.change("DELETE FROM users")
        gone = await client.ask("GET", "/api/v1/notes", headers=ada)
        assert gone.status == 401
        assert gone.json["error"]["message"] == "This account does not exist any more"

    story(template, tmp_path, tell)
