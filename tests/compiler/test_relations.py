"""Relations in queries: `author.name`, shapes, `exists` and `count`, against the same by hand."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from bbops.compiler.check import validate
from bbops.compiler.compile.release import Cache, build
from bbops.compiler.testing.host import fake_host
from bbops.runtime.linking.release import link
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, with_function
from tests.support.related import FILES, Row, bench, find, tables
from tests.support.workbench import Bench

__all__ = ["bench"]

Holds = Callable[[Row, dict[int, Row], dict[int, Row], list[Row]], bool]
WHERE: list[tuple[str, Holds]] = [
    ("author.name == 'u1'", lambda p, u, _, __: u[p["author_id"]]["name"] == "u1"),
    ("author.active", lambda p, u, _, __: bool(u[p["author_id"]]["active"])),
    ("editor.name == 'u1'", lambda p, *_: p["editor_id"] == 1),
    ("editor.name == null", lambda p, *_: p["editor_id"] is None),
    ("editor.id != null", lambda p, *_: p["editor_id"] is not None),
    ("parent.author.id == 2", lambda p, _, ps, __: p["parent_id"] is not None
        and ps[p["parent_id"]]["author_id"] == 2),
    ("parent.price == price", lambda p, _, ps, __: p["parent_id"] is not None
        and float(ps[p["parent_id"]]["price"]) == float(p["price"])),
    ("exists(comments)", lambda p, _, __, c: any(x["post_id"] == p["id"] for x in c)),
    ("not exists(comments, body == 'a')", lambda p, _, __, c: not any(
        x["post_id"] == p["id"] and x["body"] == "a" for x in c)),
    ("exists(comments, user.name == 'u2' and title != 'p3')", lambda p, _, __, c: any(
        x["post_id"] == p["id"] and x["user_id"] == 2 and p["title"] != "p3" for x in c)),
    ("count(comments, user_id == author_id) > 0", lambda p, _, __, c: any(
        x["post_id"] == p["id"] and x["user_id"] == p["author_id"] for x in c)),
    ("count(author.edited) >= input.least", lambda p, _, ps, __: sum(
        x["editor_id"] == p["author_id"] for x in ps.values()) >= 3),
    ("exists(replies, exists(comments, body == 'b'))", lambda p, _, ps, c: any(
        r["parent_id"] == p["id"] and any(
            x["post_id"] == r["id"] and x["body"] == "b" for x in c) for r in ps.values())),
    ("input.name == null or exists(comments, body == input.name)", lambda *_: True),
    ("sum(comments, id, body == 'a') > 30", lambda p, _, __, c: sum(
        x["id"] for x in c if x["post_id"] == p["id"] and x["body"] == "a") > 30),
    ("sum(replies, count(comments)) > 3", lambda p, _, ps, c: sum(
        ps[x["post_id"]]["parent_id"] == p["id"] for x in c) > 3),
    ("author_id in list(comments, user_id)", lambda p, _, __, c: any(
        x["post_id"] == p["id"] and x["user_id"] == p["author_id"] for x in c)),
    ("editor_id not in list(comments, user_id)", lambda p, _, __, c: not any(
        x["post_id"] == p["id"] and x["user_id"] == p["editor_id"] for x in c)),
    ("price in list(replies, price, id > input.least)", lambda p, _, ps, __: any(
        x["parent_id"] == p["id"] and x["id"] > 3 and Decimal(x["price"]) == Decimal(p["price"])
        for x in ps.values())),
    ("editor_id != null and exists(replies, row.editor_id == editor_id and row.editor_id > 1)",
        lambda p, _, ps, __: (p["editor_id"] or 0) > 1 and any(
            r["parent_id"] == p["id"] and r["editor_id"] == p["editor_id"]
            for r in ps.values())),
    ("exists(replies, row.id < id and title != row.title)", lambda p, _, ps, __: any(
        r["parent_id"] == p["id"] and r["id"] > p["id"] for r in ps.values())),
]  # fmt: skip


@pytest.mark.parametrize(("where", "holds"), WHERE, ids=[where for where, _ in WHERE])
def test_a_condition_over_relations_finds_what_it_says(
    bench: Bench, where: str, holds: Holds
) -> None:
    users, posts, comments = tables(bench)
    found = find(bench, f"table: posts\nwhere: {where}\nselect: [id]", {"least": 3})
    wanted = [id_ for id_, post in posts.items() if holds(post, users, posts, comments)]
    assert [row["id"] for row in found] == wanted


def test_a_shape_gives_nested_maps(bench: Bench) -> None:
    users, posts, comments = tables(bench)
    found = find(
        bench,
        """
table: posts
select:
  number: id
  label: title + '!'
  cheap: price < 5
  comments: count(comments)
  discussed: exists(comments)
  author: { name: author.name, nick: author.nick, active: author.active, since: author.joined }
  editor: { id: editor.id, nick: editor.nick }
  parent: { title: parent.title, editor: { name: parent.editor.name } }
""",
    )
    for row, post in zip(found, posts.values(), strict=True):
        author = users[post["author_id"]]
        editor = users.get(post["editor_id"])
        parent = posts.get(post["parent_id"])
        count = sum(x["post_id"] == post["id"] for x in comments)
        assert row == {
            "number": post["id"],
            "label": post["title"] + "!",
            "cheap": float(post["price"]) < 5,
            "comments": count,
            "discussed": count > 0,
            "author": {
                "name": author["name"], "nick": author["nick"], "active": bool(author["active"]),
                "since": f"2026-01-0{author['id']}T00:00:00Z",
            },
            "editor": editor and {"id": editor["id"], "nick": editor["nick"]},
            "parent": parent and {
                "title": parent["title"],
                "editor": {"name": users[parent["editor_id"]]["name"]}
                if parent["editor_id"] else None,
            },
        }  # fmt: skip


def test_a_shape_lists_the_rows_of_relations(bench: Bench) -> None:
    users, posts, comments = tables(bench)
    found = find(
        bench,
        """
table: posts
select:
  id: id
  sum: sum(replies, price)
  bodies: list(comments, body)
  names: list(comments, user.name, user.name != null and id > input.least)
  comments:
    - title: title
      body: body
      user: { name: user.name, since: user.joined, active: user.active }
  replies:
    - number: id
      price: price
      comments: [ { user: user_id } ]
      bodies: list(comments, body)
""",
    )

    def of(id_: int) -> list[Row]:
        return [x for x in comments if x["post_id"] == id_]

    for row, post in zip(found, posts.values(), strict=True):
        replies = [p for p in posts.values() if p["parent_id"] == post["id"]]
        assert row == {
            "id": post["id"],
            "sum": str(sum(Decimal(p["price"]) for p in replies)),
            "bodies": [x["body"] for x in of(post["id"])],
            "names": [users[x["user_id"]]["name"] for x in of(post["id"]) if x["user_id"]],
            "comments": [
                {
                    "title": post["title"],
                    "body": x["body"],
                    "user": x["user_id"] and {
                        "name": users[x["user_id"]]["name"],
                        "since": f"2026-01-0{x['user_id']}T00:00:00Z",
                        "active": bool(users[x["user_id"]]["active"]),
                    },
                }
                for x in of(post["id"])
            ],
            "replies": [
                {
                    "number": p["id"], "price": p["price"],
                    "comments": [{"user": x["user_id"]} for x in of(p["id"])],
                    "bodies": [x["body"] for x in of(p["id"])],
                }
                for p in replies
            ],
        }  # fmt: skip


def test_lists_in_lists_are_one_statement_that_can_be_prepared(bench: Bench) -> None:
    each = "id: id, title: title + author.name, n: 'count(replies, author.name == title)'"
    shape = each
    for _ in range(4):
        shape = f"{each}, replies: [ {{ {shape} }} ]"
    text = f"steps:\n  - find:\n      table: posts\n      select: {{ {shape} }}\n    as: a\n"
    value = "  - return: { value: '${ vars.a }' }\n"
    built = build(MemoryTree(with_function(text + value) | FILES), database=bench.database)
    (statement,) = link(built.artifact, name="a", host=fake_host(bench.door), env=ENV).statements()
    bench.loop.run_until_complete(bench.door.prepare(statement))
    deeper = text.replace(shape, f"{each}, replies: [ {{ {shape} }} ]")
    assert "at most 4 deep" in "\n".join(
        map(str, validate(MemoryTree(with_function(deeper) | FILES))[1])
    )


def test_aggregate_tells_of_groups(bench: Bench) -> None:
    _, posts, _ = tables(bench)
    found = find(
        bench,
        """
table: posts
where: id > 2
aggregate:
  groupBy: [editor_id]
  values:
    n: count()
    replies: count(parent_id != null and input.least == 0)
    total: sum(id)
    worth: sum(price)
    mean: avg(id)
    first: min(title)
    dearest: max(price)
orderBy: n.desc
""",
    )
    wanted = []
    for editor in (1, 2, None):
        group = [p for p in posts.values() if p["editor_id"] == editor and p["id"] > 2]
        ids = [p["id"] for p in group]
        wanted.append({
            "editor_id": editor, "n": len(group),
            "replies": sum(p["parent_id"] is not None for p in group),
            "total": sum(ids), "worth": str(sum(Decimal(p["price"]) for p in group)),
            "mean": sum(ids) / len(ids),
            "first": min(p["title"] for p in group),
            "dearest": max((p["price"] for p in group), key=float),
        })  # fmt: skip
    wanted.sort(key=lambda row: -row["n"])
    assert [row | {"mean": round(row["mean"], 9)} for row in found] == [
        row | {"mean": round(row["mean"], 9)} for row in wanted
    ]


def test_aggregate_of_nothing_is_one_group_of_zero(bench: Bench) -> None:
    text = "table: posts\nwhere: id > 99\naggregate:\n  values: VALUES\none: required"
    values = "{ n: count(), s: sum(id), m: max(id), j: min(price) }"
    assert find(bench, text.replace("VALUES", values)) == {"n": 0, "s": 0, "m": None, "j": None}


def test_with_total_counts_all_of_them(bench: Bench) -> None:
    text = "table: posts\nwhere: id > 4\nselect: { id: id }\nlimit: 2\nwithTotal: true"
    assert find(bench, text) == {"rows": [{"id": 5}, {"id": 6}], "total": 16}
    none = find(bench, text.replace("id > 4", "id > 400"))
    assert none == {"rows": [], "total": 0}


def test_changes_may_ask_for_relations_too(bench: Bench) -> None:
    _, posts, comments = tables(bench)
    function = """
steps:
  - update:
      table: comments
      where: post.author.name == 'u1' and not exists(post.replies)
      data: { body: z }
  - find: { table: comments, where: body == 'z' }
    as: found
  - delete: { table: comments, where: body == 'z' and post.id > 10 }
  - return: { value: "${ vars.found | pluck('id') }" }
"""
    wanted = [
        x["id"] for x in comments
        if posts[x["post_id"]]["author_id"] == 1
        and not any(p["parent_id"] == x["post_id"] for p in posts.values())
    ]  # fmt: skip
    assert wanted
    assert bench.run(function) == wanted


def test_every_statement_can_be_prepared(bench: Bench) -> None:
    steps = "".join(
        f'  - find: {{ table: posts, where: "{where}", select: {{ a: author.name }} }}\n'
        for where, _ in WHERE
    )
    files = with_function(f"input: {{ name?: string, least: integer }}\nsteps:\n{steps}") | FILES
    built = build(MemoryTree(files), database=bench.database)
    release = link(built.artifact, name="a", host=fake_host(bench.door), env=ENV)
    for text in release.statements():
        bench.loop.run_until_complete(bench.door.prepare(text))


@pytest.mark.parametrize(
    "find",
    [
        "where: author.name == 'a'", "where: exists(comments, user.name == 'a')",
        "select: { a: { b: parent.author.name } }",
        "aggregate: { groupBy: { a: author.name }, values: { n: count() } }",
        "aggregate: { values: { n: max(author.name) } }",
        "select: { a: { find: { relation: comments, select: { b: user.name } } } }",
        "select: { a: { find: { relation: replies, where: author.name == 'a', select: [id] } } }",
        "distinct: true\n      select: { a: author.name }",
    ],
)  # fmt: skip
def test_a_changed_table_compiles_what_reads_it_through_relations(find: str) -> None:
    cache, function = Cache(), f"steps:\n  - find:\n      table: posts\n      {find}\n"
    files = with_function(function) | FILES
    assert build(MemoryTree(files), cache).project is not None
    changed = files["tables/users.yaml"].replace("name: { type: string }", "name: { type: text }")
    built = build(MemoryTree(files | {"tables/users.yaml": changed}), cache)
    assert built.compiled == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("where: author == null", "'author' is a row of table 'users', not a value"),
        ("where: author.nmae == 'a'", "has no column 'nmae'"),
        ("where: editor.name > 'a'", "maybe-null"),
        ("where: exists(coments)", "did you mean 'comments'"),
        ("where: exists(author)", "needs a relation of table 'posts' to many rows"),
        ("where: exists(comments, bdy == 'a')", "unknown-column"),
        ("where: exists(comments, user_id > 1)", "maybe-null"),
        ("where: editor_id != null and exists(replies, editor_id > 1)", "maybe-null"),
        ("where: exists(replies, editor_id != null and row.editor_id > 1)", "maybe-null"),
        ("where: exists(replies, row.editor_id != null and editor_id > 1)", "maybe-null"),
        ("where: count(comments, body == 'a', 1) > 0", "takes 1 to 2 arguments"),
        ("select: { a: author }", "'author' is a row of table 'users'"),
        ("select: { a: author.secret }", "private-data"),
        ("select: { a: [title] }", "'a' is not a relation of table 'posts'"),
        ("select: { a: [title, { id: id }] }", "a relation takes a list of columns, or of one map"),
        ("select: { author: [nme] }", "table 'users' has no column 'nme'"),
        ("select: { comments: [bdy] }", "did you mean 'body'"),
        ("select: { author: [secret] }", "private-data"),
        ("select: { a: [ { a: id } ] }", "'a' is not a relation of table 'posts' to many rows"),
        ("select: { coments: [ { a: id } ] }", "did you mean 'comments'"),
        ("select: { comments: [ { a: bdy } ] }", "unknown-column"),
        ("select: { comments: [ { a: user.secret } ] }", "private-data"),
        (
            "select: { comments: [ { a: body, b: author.nick + '!' } ] }",
            "'author.nick' may be null",
        ),
        (
            "select: { comments: [ { replies: [ { a: id } ] } ] }",
            "not a relation of table 'comments'",
        ),
        ('select: { a: "list(comments)" }', "takes 2 to 3 arguments, got 1"),
        ('select: { a: "list(comments, user.secret)" }', "private-data"),
        ('select: { a: "list(comments, body) | length" }', "is not computed with in SQL"),
        ("where: 3 in list(comments, body)", "never in a list of text"),
        ("where: title in list(comments, meta)", "json columns cannot be searched"),
        ("where: sum(comments, meta) > 1", "json columns cannot be added"),
        ("where: sum(comments, body) > 1", "'sum' needs a number, got text"),
        ("select: { a: title | slugify }", "does not work on columns"),
        ("select: { a: input.any }", "is not supported in SQL"),
        ("select: {}", "a list of columns, or a map"),
        ("one: true\n      withTotal: true", "'one' gives no list"),
        ("aggregate: { values: { n: id } }", "a value is count()"),
        ("aggregate: { values: { n: sum(title) } }", "'sum' needs a number, got text"),
        ("aggregate: { values: { n: avg(meta) } }", "has no column 'meta'"),
        ("aggregate: { values: { n: sum() } }", "'sum' takes a value and perhaps a condition"),
        ("aggregate: { groupBy: [ttle], values: { n: count() } }", "no column 'ttle'"),
        ("aggregate: { groupBy: [id], values: { id: count() } }", "is a column of 'groupBy'"),
        ("aggregate: { values: { n: count() } }\n      orderBy: id.desc", "is not a name in"),
        ("aggregate: { values: { n: count() } }\n      select: [id]", "does not go with"),
        ('aggregate: { values: { n: "count(title == 1)" } }', "cannot be compared"),
    ],
)
def test_mistakes_are_told(text: str, message: str) -> None:
    function = f"""
input: {{ any: json }}
steps:
  - find:
      table: posts
      {text}
    as: found
  - return: {{ value: "${{ vars.found }}" }}
"""
    found = validate(MemoryTree(with_function(function) | FILES))[1]
    assert message in "\n".join(map(str, found))
