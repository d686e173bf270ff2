"""What a plan says of values that anybody may read from now on."""

from __future__ import annotations

import pytest

from bbops.review.plan.plan import plan
from tests.support.planning import project

pytestmark = pytest.mark.quick

PROJECT = {
    "project.yaml": "bbops: 1\nname: shop\n",
    "tables/users.yaml": (
        "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
        "  name: { type: string }\n  email: { type: string, unique: true }\n"
        "  password_hash: { type: string, private: true }\n"
    ),
    "tables/posts.yaml": (
        "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
        "  title: { type: string }\n  published: { type: boolean }\n"
        "  author_id: { type: integer, references: users.id }\n"
    ),
}
LISTED = """
steps:
  - find:
      table: posts
      where: published and (query.author == null or author_id == (query.author | toNumber))
      select: [id, title]
    as: posts
  - return: { value: "${ vars.posts }" }
"""


def endpoint(name: str, authentication: str = "None", method: str = "GET") -> dict[str, str]:
    text = (
        f"method: {method}\npath: /{name}\nfunction: {name}\n"
        f"authentication: {authentication}\ndescription: A route.\n"
    )
    return {f"endpoints/{name}.yaml": text}


def route(name: str, steps: str, authentication: str = "None") -> dict[str, str]:
    return endpoint(name, authentication) | {f"functions/{name}.yaml": steps}


BASE = PROJECT | route("posts", LISTED)


def opened(head: dict[str, str], base: dict[str, str] = BASE) -> list[str]:
    found = plan(project(base), project(base | head)).access
    return [one.message for one in found if one.code == "rows-opened"]


def listing(where: str, select: str = "[id, title]", table: str = "posts") -> str:
    return (
        f"steps:\n  - find:\n      table: {table}\n      where: {where}\n      select: {select}\n"
        '    as: rows\n  - return: { value: "${ vars.rows }" }\n'
    )


def test_a_new_public_route_with_rows_that_were_not_public_loosens_access() -> None:
    assert opened(route("all", listing("true"))) == [
        "gives anybody rows of table 'posts', which no public route did before"
    ]
    assert opened(route("people", listing("true", "[name]", "users"))) == [
        "gives anybody 'name' of table 'users', which no public route did before"
    ]


def test_columns_that_come_through_a_relation_count() -> None:
    steps = listing("published", "{ title: title, by: author.email }")
    assert opened(route("by", steps)) == [
        "gives anybody 'email' of table 'users', which no public route did before"
    ]


@pytest.mark.parametrize(
    "where", ["published", "published and id == 7", "title == 'a' and published"]
)
def test_what_was_public_already_is_no_finding(where: str) -> None:
    assert opened(route("more", listing(where))) == []


@pytest.mark.parametrize("where", ["not published", "published or id == 7", "id == 7", "true"])
def test_other_rows_are_a_finding_whatever_the_client_may_choose(where: str) -> None:
    assert len(opened(route("more", listing(where)))) == 1


def test_what_is_read_and_never_answered_is_no_finding() -> None:
    steps = (
        "input: { email: string, password: string }\nsteps:\n"
        "  - find: { table: users, where: email == input.email, one: true }\n    as: user\n"
        "  - verifyPassword:\n      password: ${ input.password }\n"
        "      hash: ${ vars.user?.password_hash }\n    as: good\n"
        '  - return: { value: { good: "${ vars.good }" } }\n'
    )
    head = endpoint("login", method="POST") | {"functions/login.yaml": steps}
    assert opened(head) == []


def test_a_route_that_asks_for_a_token_is_no_finding() -> None:
    auth = {"project.yaml": PROJECT["project.yaml"] + (
        "env: { KEY: { secret: true, generate: true } }\nauth: { signingKey: '${ env.KEY }' }\n"
    )}  # fmt: skip
    base = BASE | auth
    assert opened(route("mine", listing("true"), "JWT"), base) == []


def test_a_route_that_was_public_and_gives_more_is_a_finding() -> None:
    assert opened({"functions/posts.yaml": LISTED.replace("[id, title]", "[id, title, author_id]")})
    assert opened({"functions/posts.yaml": LISTED.replace("published and", "true and")})
    assert opened({"functions/posts.yaml": LISTED.replace("title]", "title ]")}) == []


def test_a_new_column_of_a_public_list_is_a_finding() -> None:
    everything = listing("true").replace("      select: [id, title]\n", "")
    base = BASE | route("all", everything)
    table = base["tables/posts.yaml"] + "  draft: { type: string, nullable: true }\n"
    assert opened({"tables/posts.yaml": table}, base) == [
        "gives anybody 'draft' of table 'posts', which no public route did before"
    ]
