"""Random rules, queries and users give what plain Python makes of the same rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from bbops.compiler.compile.release import build
from bbops.compiler.testing.client import Client
from bbops.runtime.linking.release import link
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, sample
from tests.support.postgres import DATABASES, place_of
from tests.support.raw_requests import token
from tests.support.ruled import (
    CHANNEL,
    COLUMNS,
    PEOPLE,
    PROJECT,
    Data,
    Part,
    Row,
    Ruled,
    Seen,
    User,
    condition,
    draw_data,
    draw_rules,
)  # fmt: skip
from tests.support.workbench import Bench

USERS: list[User] = [None, 0, 1, 2]
ROUNDS = int(os.environ.get("BBOPS_RULE_ROUNDS", "25"))
"""Of 40 triples; 125 are 5,000, in five minutes."""
QUERIES = 10
Drawn = tuple[str, Callable[[Seen], Any]]
"""The steps of a query, and what they give."""


@pytest.fixture(scope="module", params=DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    files = {f"tables/{name}.yaml": Ruled({}, {}).yaml(name) for name in COLUMNS}
    with (
        place_of(request, tmp_path_factory.mktemp("rules")) as place, Bench(place, files) as found
    ):  # fmt: skip
        yield found


def fill(bench: Bench, data: Data) -> None:
    for table in reversed(COLUMNS):
        bench.sql(f"DELETE FROM {table}")
    for table, rows in data.items():
        for row in rows:
            marks = ", ".join("?" * len(row))
            bench.sql(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", *row.values())


# ---- queries: their steps, and what they give
def listing(where: Part, select: str, value: Callable[[Seen, Row], Any], more: str = "") -> Drawn:
    steps = (
        f'  - find: {{ table: notes, where: "{where.text}", select: {{ {select} }}{more} }}\n'
        "    as: found\n  - return: ${ vars.found }\n"
    )
    return steps, lambda s: [value(s, row) for row in matching(s, where)]


def matching(seen: Seen, where: Part) -> list[Row]:
    return [row for row in seen.rows("notes") if where.holds(seen, row)]


def total(of: list[Any]) -> int:
    return sum(one for one in of if one is not None)


def rows(random: Random, where: Part) -> Drawn:
    return listing(
        where, "id: id, team: team.id", lambda _, r: {"id": r["id"], "team": r["team_id"]}
    )


def relation(random: Random, where: Part) -> Drawn:
    def value(s: Seen, r: Row) -> Any:
        team = s.one("notes", r)
        owner = None if team is None else team["owner_id"]
        map_ = None if r["team_id"] is None else {"id": r["team_id"], "owner_id": owner}
        return {"id": r["id"], "owner": owner, "team": map_}

    return listing(where, "id: id, owner: team.owner_id, team: [id, owner_id]", value)


def nested(random: Random, where: Part) -> Drawn:
    inner = condition(random, "comments", 1, related=False)

    def value(s: Seen, r: Row) -> Any:
        found = s.many("notes", "comments", r)
        kept = [{"id": c["id"]} for c in reversed(found) if inner.holds(s, c)]
        return {"id": r["id"], "all": [{"id": c["id"]} for c in found], "some": kept[:2]}

    find = f'relation: comments, where: "{inner.text}", orderBy: id.desc, limit: 2, select: [id]'
    every = "{ find: { relation: comments, select: [id] } }"
    select = f"id: id, all: {every}, some: {{ find: {{ {find} }} }}"
    return listing(where, select, value)


def related(random: Random, where: Part) -> Drawn:
    inner = condition(random, "comments", 1, related=False)

    def value(s: Seen, r: Row) -> Any:
        found = s.many("notes", "comments", r)
        score = [c["score"] for c in found if inner.holds(s, c)]
        return {
            "id": r["id"], "n": len(found), "sum": total(score), "any": bool(score),
            "list": [c["id"] for c in found],
        }  # fmt: skip

    return listing(
        where,
        f'id: id, n: count(comments), sum: "sum(comments, score, {inner.text})",'
        f' any: "exists(comments, {inner.text})", list: "list(comments, id)"',
        value,
    )


def through(random: Random, where: Part) -> Drawn:
    """Ask for the rows that refer to a related row, which may be hidden."""

    def value(s: Seen, r: Row) -> Any:
        team = s.one("notes", r)
        return {"id": r["id"], "n": 0 if team is None else len(s.many("teams", "members", team))}

    return listing(where, "id: id, n: count(team.members)", value)


def group(random: Random, where: Part) -> Drawn:
    steps = (
        f'  - find:\n      table: notes\n      where: "{where.text}"\n      withTotal: true\n'
        "      aggregate:\n"
        "        groupBy: { owner: team.owner_id }\n"
        "        values: { n: count(), sum: sum(score) }\n"
        "        having: n > 1\n"
        "    as: found\n  - return: ${ vars.found }\n"
    )

    def value(s: Seen) -> Any:
        found: dict[Any, list[Row]] = {}
        for row in matching(s, where):
            team = s.one("notes", row)
            found.setdefault(None if team is None else team["owner_id"], []).append(row)
        order = sorted(found, key=lambda one: (one is None, one or 0))
        kept = [
            {"owner": one, "n": len(found[one]), "sum": total([r["score"] for r in found[one]])}
            for one in order if len(found[one]) > 1
        ]  # fmt: skip
        return {"rows": kept, "total": len(kept)}

    return steps, value


def pages(random: Random, where: Part) -> Drawn:
    """Order by a related row, which may be hidden; read the second page."""
    page = (
        f'  - find: {{ table: notes, where: "{where.text}", select: {{ id: id }},'
        " orderBy: [team.owner_id.desc, score], limit: 2, after: CURSOR, withTotal: true }\n"
        "    as: page\n"
    )
    steps = (
        page.replace("CURSOR", "null")
        + "  - set: { first: '${ vars.page.rows }' }\n"
        + page.replace("CURSOR", "'${ vars.page.next }'")
        + "  - return: { value: { first: '${ vars.first }', page: '${ vars.page.rows }',"
        " total: '${ vars.page.total }' } }\n"
    )

    def value(s: Seen) -> Any:
        def key(r: Row) -> Any:
            owner = (s.one("notes", r) or {"owner_id": None})["owner_id"]
            score = r["score"]
            return owner is None, -(owner or 0), score is None, score or 0, r["id"]

        found = [{"id": r["id"]} for r in sorted(matching(s, where), key=key)]
        page = found[2:4] if len(found) > 2 else found[:2]
        return {"first": found[:2], "page": page, "total": len(found)}

    return steps, value


def union(random: Random, where: Part) -> Drawn:
    steps = (
        "  - find:\n      union:\n"
        f'        - {{ table: notes, where: "{where.text}", select: {{ id: id, score: score }} }}\n'
        "        - { table: members, select: { id: id, score: score } }\n"
        "      orderBy: [id, score]\n"
        "    as: found\n  - return: ${ vars.found }\n"
    )

    def value(s: Seen) -> Any:
        found = [*matching(s, where), *s.rows("members")]
        order = sorted(found, key=lambda r: (r["id"], r["score"] is None, r["score"] or 0))
        return [{"id": r["id"], "score": r["score"]} for r in order]

    return steps, value


def update(random: Random, where: Part) -> Drawn:
    steps = (
        f'  - update: {{ table: notes, where: "{where.text}", data: {{ touched: 7 }} }}\n'
        "    as: found\n  - return: ${ vars.found.count }\n"
    )
    return steps, lambda s: len(s.allowed("notes", "update", matching(s, where)))


def delete(random: Random, where: Part) -> Drawn:
    steps = (
        f'  - transaction:\n      - delete: {{ table: notes, where: "{where.text}" }}\n'
        "        as: found\n      - throw: { status: 418, value: '${ vars.found.count }' }\n"
    )
    return steps, lambda s: len(s.allowed("notes", "delete", matching(s, where)))


KINDS = [rows, relation, nested, related, through, group, pages, union, update, delete]


# ---- the property
def triples(bench: Bench, random: Random) -> int:
    """Try some rules with some queries for each user; return how many there were."""
    rules, data = draw_rules(random), draw_data(random)
    fill(bench, data)
    drawn = [
        random.choice(KINDS)(random, condition(random, "notes", 1)) for _ in range(QUERIES)
    ]  # fmt: skip
    files = sample(project=PROJECT, tables__people=PEOPLE, channels__desk=CHANNEL)
    files |= {f"tables/{name}.yaml": rules.yaml(name) for name in COLUMNS}
    for at, (steps, _) in enumerate(drawn):
        head = f"channel: desk\nmethod: POST\npath: /q{at}\nsteps:\n"
        files[f"endpoints/q{at}.yaml"] = head + steps
    tree = MemoryTree(files)
    built = build(tree, bench.cache, database=bench.database, base=tree)
    assert built.project is not None, [*map(str, built.diagnostics)]
    client = Client(link(built.artifact, name="bench", host=bench.host, env=ENV), bench.door)
    for at, (steps, value) in enumerate(drawn):
        for user in USERS:
            found = ask(bench, client, f"/desk/q{at}", user)
            wanted = value(Seen(data, rules, user))
            assert found == wanted, (user, steps, rules_text(rules), data)
    return len(drawn) * len(USERS)


def ask(bench: Bench, client: Client, path: str, user: User) -> Any:
    role = "admin" if user == 0 else "user"
    headers = {} if user is None else token(sub=str(user), role=role)
    reply = bench.loop.run_until_complete(client.ask("POST", path, {}, headers=headers))
    assert reply.status in {200, 418}, (reply.json, bench.host.log.lines[-1:], path)  # type: ignore[attr-defined]
    return reply.json


def rules_text(rules: Ruled) -> str:
    return "\n".join(f"# {name}\n{rules.yaml(name)}" for name in COLUMNS)


def test_rules_hide_what_plain_python_does(bench: Bench) -> None:
    random = Random(7)
    assert sum(triples(bench, random) for _ in range(3)) == 120


@pytest.mark.long
def test_many_triples_of_rule_query_and_user_equal_plain_python(bench: Bench) -> None:
    random = Random(11)
    assert sum(triples(bench, random) for _ in range(ROUNDS)) == 40 * ROUNDS
