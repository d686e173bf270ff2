"""An agent asks a draft as one of its own users; what is live signs nobody in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bbops.base.errors import ServerError
from bbops_server.process.messages.drafts import SignInToDraft
from tests.support.agents_at_server import House, ServedAgent
from tests.support.checkouts import make_repository
from tests.support.small_project import FILES

USERS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  email: { type: string, unique: true }
  role: { type: string, default: guest }
seed:
  - { id: 7, email: ada@example.com, role: admin }
"""
ME = """
steps:
  - return:
      value: { user: "${ vars.auth.userId }", email: "${ vars.auth.email }",
               role: "${ vars.auth.role }", sent: "${ headers.authorization }" }
"""
SIGNED = {
    "project.yaml": FILES["project.yaml"]
    + "auth: { users: users, signingKey: '${ env.SECRET }', schemes: [Token, Bearer] }\n",
    "tables/users.yaml": USERS, "functions/me.yaml": ME,
    "endpoints/me.yaml": "method: GET\npath: /me\nfunction: me\nauthentication: JWT\n"
    "description: Who asks.\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("signed")
    make_repository(folder / "shop", SIGNED)
    with House(folder, "projects:\n  shop: { repository: ./shop, pathPrefix: /shop }\n") as house:
        greeting = {"op": "put", "ref": "doc/one", "body": {"text": "# One"}}
        house.agent().change("topic", greeting)
        yield house


@pytest.fixture
def developer(house: House) -> ServedAgent:
    return house.agent()


def ask(one: ServedAgent, **more: Any) -> dict[str, Any]:
    return one.call("preview_request", draft="topic", method="GET", path="/me", **more)


@pytest.mark.long
@pytest.mark.parametrize("user", [{"id": 7}, {"id": "7"}, {"email": "ada@example.com"}])
def test_a_draft_is_asked_as_one_of_its_users(developer: ServedAgent, user: Any) -> None:
    found = ask(developer, **{"as": user})
    assert found["status"] == 200
    assert {**found["body"], "sent": ""} == {
        "user": 7, "email": "ada@example.com", "role": "admin", "sent": "",
    }  # fmt: skip


def test_nobody_is_signed_in_without_being_named(developer: ServedAgent) -> None:
    assert ask(developer)["status"] == 401


def test_what_signs_in_to_a_draft_is_nothing_to_what_is_live(
    house: House, developer: ServedAgent
) -> None:
    sent = ask(developer, **{"as": {"id": 7}})["body"]["sent"]
    assert sent.startswith("Token ")
    assert house.api.get("/shop/me", headers={"authorization": sent}).status_code == 401


def test_who_may_not_change_a_draft_is_nobody_in_it(house: House) -> None:
    viewer = house.agent("viewer")
    assert ask(viewer)["status"] == 401
    refused = viewer.refused("preview_request", draft="topic", method="GET", path="/me",
                             **{"as": {"id": 7}})  # fmt: skip
    assert "the role required is 'developer'" in refused.message


def test_what_is_live_signs_nobody_in(house: House, developer: ServedAgent) -> None:
    refused = developer.refused("preview_request", draft="main", method="GET", path="/me",
                                **{"as": {"id": 7}})  # fmt: skip
    assert refused.message == "there is no draft 'main'"
    asked = SignInToDraft("shop", table="users", key="id", by="id", value=7, tells=[])
    with pytest.raises(ServerError, match="only drafts"):
        house.run(house.plane.awake.sign_in(asked))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"as": {"id": 8}}, "has no row with this id"),
        ({"as": {"email": "bob@example.com"}}, "has no row with this email"),
        ({"as": {}}, "by 'id' or by 'email'"),
        ({"as": {"id": 7, "email": "ada@example.com"}}, "by 'id' or by 'email'"),
        ({"as": {"id": 7}, "headers": {"Authorization": "Bearer x"}}, "exclude each other"),
        ({"as": {"name": "ada"}}, "unknown field `name`"),
    ],
)
def test_what_names_no_user_is_refused(
    developer: ServedAgent, more: dict[str, Any], words: str
) -> None:
    refused = developer.refused("preview_request", draft="topic", method="GET", path="/me", **more)
    assert words in refused.message


def test_a_draft_where_nobody_signs_in_says_what_it_lacks(developer: ServedAgent) -> None:
    developer.change(
        "open",
        {"op": "delete", "ref": "settings", "path": ["auth"]},
        {"op": "delete", "ref": "endpoint/me"},
        {"op": "delete", "ref": "function/me"},
    )
    refused = developer.refused("preview_request", draft="open", method="GET", path="/hello",
                                **{"as": {"id": 7}})  # fmt: skip
    assert "no 'auth'" in refused.message
    assert "signingKey" in refused.hint
