"""Routes of tables over HTTP: filters, orders, pages, owners, mistakes, on both databases.

Each case is a sentence, a request, and what comes back: a status with ids, fields or values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

from bbops.compiler.testing.client import Reply
from tests.support.crud import PROJECT, TABLES, Desk
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

THEN = "2026-01-01T00:00:00.000000Z"


@pytest.fixture(scope="module", params=DATABASES)
def desk(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    with (
        place_of(request, tmp_path_factory.mktemp("crud")) as place,
        Bench(place, {**TABLES, "project.yaml": PROJECT}) as bench,
    ):  # fmt: skip
        yield Desk(bench)


@pytest.fixture(autouse=True)
def rows(desk: Desk) -> None:
    """User 1 has the notes 1 to 5 and the posts 1 to 3, user 2 the note 6 and the post 4."""
    sql = desk.bench.sql
    for table in ("posts", "notes", "labels", "users"):
        sql(f"DELETE FROM {table}")
    sql("INSERT INTO users (id, name, email, role) VALUES"
        " (1, 'Ada', 'a@x.org', 'admin'), (2, 'Bob', 'b@x.org', 'member')")  # fmt: skip
    sql("INSERT INTO labels (id, user_id) VALUES (1, 1), (2, 2)")
    notes = (
        (1, 1, 2, "apple", "one", "open", False, 1, "1.5", "2026-01-01"),
        (2, 1, None, "Banana", None, "closed", True, 2, "0.5", None),
        (3, 1, 1, "cherry", "50% off", "open", False, 3, "10.25", "2026-03-01"),
        (4, 1, None, "date_a", "two", "open", True, 4, "2", "2026-02-01"),
        (5, 1, None, 'it\'s "e"', "one two", "closed", False, 5, "3", None),
        (6, 2, None, "foreign", "one", "open", False, 9, "1", None),
    )
    for key, user, reader, title, body, state, done, points, price, due in notes:
        names = "id, user_id, reader_id, title, slug, body, state, done, points, price, due,"
        sql(
            f"INSERT INTO notes ({names} made_at, token)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'hidden')",
            key, user, reader, title, f"s{key}", body, state, done, points, price, due,
            f"2026-01-0{key}T00:00:00.000000Z",
        )  # fmt: skip
    for key, author, locked, gone in ((1, 1, False, None), (2, 1, True, None), (3, 1, False, THEN),
                                      (4, 2, False, None)):  # fmt: skip
        sql("INSERT INTO posts (id, author_id, title, locked, gone_at) VALUES (?, ?, ?, ?, ?)",
            key, author, f"post {key}", locked, gone)  # fmt: skip
    if desk.bench.database == "postgres":
        for table in ("posts", "notes"):
            sql(f"ALTER TABLE {table} ALTER COLUMN id RESTART WITH 100")


@dataclass(frozen=True)
class Case:
    """A request, and what comes back.

    Attributes:
        wants: ids of rows, names of wrong fields, or values that the answer has.
    """

    says: str
    request: str
    status: int
    wants: Any = None
    body: Any = None
    user: int | None = 1
    role: str = "member"


def listed(says: str, query: str, ids: list[int]) -> Case:
    return Case(f"list: {says}", f"GET /desk/notes?{query}&limit=5", 200, ids)


def wrong(says: str, query: str, *fields: str) -> Case:
    return Case(f"wrong: {says}", f"GET /desk/notes?{query}", 400, set(fields))


INJECTIONS = (
    "' OR '1'='1", "1; DROP TABLE notes", "x' UNION SELECT token FROM notes --", "\\' OR 1=1 --",
    "${ vars.auth }", "%", "_",
)  # fmt: skip

LISTS = (
    listed("only one's own rows, in the first order", "", [1, 2, 3, 4, 5]),
    listed("an equal text", "title=apple", [1]),
    listed("case counts", "title=APPLE", []),
    listed("eq in brackets", "title[eq]=Banana", [2]),
    listed("not equal", "title[ne]=apple", [2, 3, 4, 5]),
    listed("not equal finds null, too", "body[ne]=one", [2, 3, 4, 5]),
    listed("one of several", "points[in]=1&points[in]=4&points[in]=99", [1, 4]),
    listed("null", "body[null]=true", [2]),
    listed("not null", "body[null]=false", [1, 3, 4, 5]),
    listed("true", "done=true", [2, 4]),
    listed("an option of an enum", "state=closed", [2, 5]),
    listed("greater than", "points[gt]=3", [4, 5]),
    listed("at least", "points[gte]=3", [3, 4, 5]),
    listed("less than", "points[lt]=2", [1]),
    listed("at most", "points[lte]=2", [1, 2]),
    listed("a range of two operators", "points[gt]=1&points[lt]=4", [2, 3]),
    listed("a decimal", "price=10.25", [3]),
    listed("decimals in order", "price[gte]=2", [3, 4, 5]),
    listed("a date", "due=2026-01-01", [1]),
    listed("dates leave null out", "due[gte]=2026-01-15", [3, 4]),
    listed("a time", "made_at[lt]=2026-01-03T00:00:00Z", [1, 2]),
    listed("a key", "id[in]=2&id[in]=6", [2]),
    listed("a related column", "reader_name=Bob", [1]),
    listed("a related column that leads nowhere", "reader_name[null]=true", [2, 4, 5]),
    listed("a related enum", "reader_role=admin", [3]),
    listed("filters together", "done=false&state=open", [1, 3]),
    listed("downwards", "sort=id.desc", [5, 4, 3, 2, 1]),
    listed("by a date, null last", "sort=due.asc", [1, 4, 3, 2, 5]),
    listed("by a date downwards, null last", "sort=due.desc", [3, 4, 1, 5, 2]),
    listed("by a related column", "sort=reader.name.desc", [1, 3, 5, 4, 2]),
    *(listed(f"as it is: {one}", f"title={quote(one)}", []) for one in INJECTIONS[:6]),
    listed("quotes in a text", "title=it%27s%20%22e%22", [5]),
)  # fmt: skip
MISTAKES = (
    wrong("an unknown name", "nothing=1", "nothing"),
    wrong("a column that is no filter", "slug=s1", "slug"),
    wrong("a private column", "token=hidden", "token"),
    wrong("a private related column", "reader_email=b@x.org", "reader_email"),
    wrong("an unknown operator", "title[like]=a", "title[like]"),
    wrong("an operator that is not listed", "title[contains]=a", "title[contains]"),
    wrong("a range of texts", "title[gt]=a", "title[gt]"),
    wrong("null of what is never null", "done[null]=true", "done[null]"),
    wrong("a text for a number", "points=many", "points"),
    wrong("a text for a number in brackets", "points[gte]=many", "points[gte]"),
    wrong("no option of an enum", "state=gone", "state"),
    wrong("no date", "due[lt]=tomorrow", "due[lt]"),
    wrong("no truth value", "done=perhaps", "done"),
    wrong("an order that is not listed", "sort=token.asc", "sort"),
    wrong("an order that is SQL", f"sort={quote('id; DROP TABLE notes')}", "sort"),
    wrong("a limit above the maximum", "limit=6", "limit"),
    wrong("a limit of nothing", "limit=0", "limit"),
    wrong("several mistakes at once", "points=x&nothing=1", "points", "nothing"),
    wrong("more than 100 values", "&".join(f"points[in]={n}" for n in range(101)), "points[in]"),
    Case("wrong: a made-up cursor", "GET /desk/notes?cursor=abc", 400),
    Case("wrong: a name where nothing may be asked", "GET /open/users/1/labels?x=1", 400, {"x"}),
)
WORDS = (
    Case("words: contains", "GET /desk/words?title[contains]=a", 200, [1, 2, 4]),
    Case("words: case counts", "GET /desk/words?title[contains]=B", 200, [2]),
    Case("words: a percent sign is a percent sign", "GET /desk/words?body[contains]=%25", 200, [3]),
    Case("words: an underscore is one", "GET /desk/words?title[contains]=_", 200, [4]),
    Case("words: starts with", "GET /desk/words?title[startsWith]=ch", 200, [3]),
    Case("words: only what is listed", "GET /desk/words?points[lt]=3", 400, {"points[lt]"}),
    Case("words: no eq where it is not listed", "GET /desk/words?title=apple", 400),
)
ROWS = (
    Case("get: one's own row", "GET /desk/notes/1", 200, {"title": "apple", "points": 1}),
    Case("get: not somebody else's", "GET /desk/notes/6", 404),
    Case("get: not what is not there", "GET /desk/notes/99", 404),
    Case("get: a key of another type", "GET /desk/notes/first", 400, {"id"}),
    Case("get: not without a token", "GET /desk/notes/1", 401, user=None),
    Case("get: what is selected, of related rows, too", "GET /open/posts/1", 200,
         {"id": 1, "title": "post 1", "author": {"name": "Ada"}}, user=None),
    Case("get: not what is deleted", "GET /open/posts/3", 404),
    Case("create: a row of one's own", "POST /desk/notes", 201,
         {"title": "New one", "slug": "new-one", "user_id": 1, "state": "open", "points": 0},
         {"title": "New one"}),
    Case("create: what is not declared is dropped", "POST /desk/notes", 201,
         {"user_id": 1, "slug": "b"}, {"title": "B", "user_id": 2, "slug": "z", "id": 1}),
    Case("create: a field is missing", "POST /desk/notes", 400, {"title"}, {}),
    Case("create: bounds of the columns", "POST /desk/notes", 400, {"title", "points", "state"},
         {"title": "x" * 41, "points": -1, "state": "gone"}),
    Case("create: a unique value again", "POST /desk/notes", 409, {"slug"}, {"title": "s1"}),
    Case("create: a row that is not there", "POST /desk/notes", 409, {"reader_id"},
         {"title": "a", "reader_id": 99}),
    Case("create: a row that one cannot read", "POST /desk/notes", 409, {"label_id"},
         {"title": "a", "label_id": 2}),
    Case("create: the same for one that is not there", "POST /desk/notes", 409, {"label_id"},
         {"title": "a", "label_id": 99}),
    Case("create: a row that one can read", "POST /desk/notes", 201, {"label_id": 1},
         {"title": "a", "label_id": 1}),
    Case("create: not for somebody else", "POST /open/posts", 403, None,
         {"title": "a", "author_id": 2}),
    Case("create: with what is selected of related rows", "POST /open/posts", 201,
         {"title": "a", "author": {"name": "Ada"}}, {"title": "a", "author_id": 1}),
    Case("create: what the path says", "POST /open/users/1/labels", 201, {"id": 7, "user_id": 1},
         {"id": 7}),
    Case("create: not for whom the rule refuses", "POST /open/users/2/labels", 403, None,
         {"id": 7}),
    Case("update: what was sent", "PATCH /desk/notes/1", 200,
         {"title": "Pear", "body": "one", "points": 1, "extra": {"a": 1}}, {"title": "Pear"}),
    Case("update: null is a value", "PATCH /desk/notes/1", 200, {"body": None}, {"body": None}),
    Case("update: nothing changes nothing", "PATCH /desk/notes/1", 200, {"title": "apple"}, {}),
    Case("update: not somebody else's", "PATCH /desk/notes/6", 404, None, {"title": "x"}),
    Case("update: null where none may be", "PATCH /desk/notes/1", 400, {"title"}, {"title": None}),
    Case("update: a row that one cannot read", "PATCH /desk/notes/1", 409, {"label_id"},
         {"label_id": 2}),
    Case("update: a shape of one's own", "PATCH /desk/words/1", 400, {"title"}, {"title": "ab"}),
    Case("update: with what is selected of related rows", "PATCH /desk/words/1", 200,
         {"title": "abc", "reader": {"id": 2, "name": "Bob"}}, {"title": "abc"}),
    Case("update: what may be read and not changed", "PATCH /open/posts/2", 403, None,
         {"title": "x"}),
    Case("update: what is somebody else's and readable", "PATCH /open/posts/4", 403, None,
         {"title": "x"}),
    Case("update: what is deleted", "PATCH /open/posts/3", 404, None, {"title": "x"}),
    Case("update: what one may change", "PATCH /open/posts/1", 200, {"title": "x"}, {"title": "x"}),
    Case("delete: needs the role", "DELETE /desk/notes/1", 403),
    Case("delete: a row", "DELETE /desk/notes/1", 204, role="admin"),
    Case("delete: not somebody else's, whichever the role", "DELETE /desk/notes/6", 404,
         role="admin"),
    Case("delete: what may be read and not deleted", "DELETE /open/posts/4", 403),
    Case("delete: what is deleted already", "DELETE /open/posts/3", 404),
    Case("function: one's own on the same route", "GET /open/users/1/labels/5", 200,
         {"user": 1, "id": 5}),
    Case("only what is named exists", "POST /desk/words", 405, None, {"title": "x"}),
)  # fmt: skip
CASES = (*LISTS, *MISTAKES, *WORDS, *ROWS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
def test_a_route_of_a_table_answers(desk: Desk, case: Case) -> None:
    method, path = case.request.split(" ", 1)
    reply = desk.ask(method, path, case.body, user=case.user, role=case.role)
    assert reply.status == case.status, reply.json
    if case.wants is not None:
        assert found(reply, case.wants) == case.wants
    assert "hidden" not in reply.body.decode()


def found(reply: Reply, wants: Any) -> Any:
    """Return the part of an answer that a case asks for."""
    if isinstance(wants, list):
        return [row["id"] for row in reply.json["rows"]]
    if isinstance(wants, set):
        return set(reply.json["error"]["fields"])
    return {name: reply.json[name] for name in wants}


def test_there_are_60_cases() -> None:
    assert len(CASES) >= 60
    assert len({case.says for case in CASES}) == len(CASES)


def test_a_row_that_one_cannot_read_is_like_one_that_is_not_there(desk: Desk) -> None:
    for method, path in (("POST", "/desk/notes"), ("PATCH", "/desk/notes/1")):
        hidden, missing = (
            desk.ask(method, path, {"title": "a", "label_id": label}) for label in (2, 99)
        )
        assert (hidden.status, hidden.body) == (missing.status, missing.body)


def test_pages_go_on_behind_the_last_row(desk: Desk) -> None:
    first = desk.ask("GET", "/desk/notes?sort=due.asc&total=true").json
    assert [row["id"] for row in first["rows"]] == [1, 4, 3]
    assert first["total"] == 5
    rest = desk.ask("GET", f"/desk/notes?sort=due.asc&cursor={quote(first['next'])}").json
    assert [row["id"] for row in rest["rows"]] == [2, 5]
    assert rest["next"] is None
    assert "total" not in rest


def test_a_cursor_of_another_order_is_refused(desk: Desk) -> None:
    first = desk.ask("GET", "/desk/notes?sort=due.asc").json
    reply = desk.ask("GET", f"/desk/notes?sort=id.desc&cursor={quote(first['next'])}")
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidCursor")


def test_what_is_refused_writes_nothing(desk: Desk) -> None:
    before = desk.bench.sql("SELECT id, title FROM posts ORDER BY id")
    for case in ROWS:
        if case.status >= 400 and "/open/posts" in case.request:
            method, path = case.request.split(" ", 1)
            desk.ask(method, path, case.body)
    assert desk.bench.sql("SELECT id, title FROM posts ORDER BY id") == before


def test_a_deleted_row_of_a_table_with_soft_delete_stays(desk: Desk) -> None:
    assert desk.ask("DELETE", "/open/posts/1").status == 204
    assert desk.ask("GET", "/open/posts/1").status == 404
    assert desk.bench.sql("SELECT count(*) FROM posts WHERE gone_at IS NOT NULL")[0][0] == 2
