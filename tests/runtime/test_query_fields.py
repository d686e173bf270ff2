"""Fields of a query that have fields, written in brackets, and names that nobody declared."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.conftest import with_function
from tests.support.raw_requests import Ask, routes

FILTERED = """
query:
  done?: { fields: { eq?: boolean, ne?: boolean } }
  made_at?: { fields: { gte?: datetime, lt?: datetime } }
  size?: { fields: { eq?: integer, in?: { type: "integer[]", maxLength: 3 } } }
  name?: string
steps:
  - return:
      value: { done: "${ query.done }", made: "${ query.made_at?.gte }", size: "${ query.size }" }
"""
STRICT = f"strictQuery: true\n{FILTERED}"
HOSTILE = [
    "a[", "a]", "a[]", "[a]", "a[b][c]", "size[in][]", "size[0]", "size[eq", "done[__proto__]",
    "__proto__", "__proto__[eq]", "constructor[prototype]", "size[EQ]", "size [eq]", "",
    "size[eq]\0", "é[ü]", "x" * 5_000,
]  # fmt: skip


def fields(ask: Ask, text: str, query: str) -> dict[str, list[str]]:
    reply = ask(with_function(text), "POST", f"/run?{query}")
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")
    found: dict[str, list[str]] = reply.json["error"]["fields"]
    return found


def test_names_in_brackets_are_fields_of_a_field_with_their_types(ask: Ask) -> None:
    query = "done[ne]=true&made_at[gte]=2026-01-02&size[in]=1&size[in]=2"
    reply = ask(with_function(FILTERED), "POST", f"/run?{query}")
    assert reply.json == {
        "done": {"ne": True}, "made": "2026-01-02T00:00:00Z", "size": {"in": [1, 2]},
    }  # fmt: skip


def test_brackets_may_be_percent_encoded(ask: Ask) -> None:
    reply = ask(with_function(FILTERED), "POST", "/run?size%5Beq%5D=7")
    assert reply.json["size"] == {"eq": 7}


def test_a_value_without_brackets_is_its_eq(ask: Ask) -> None:
    reply = ask(with_function(FILTERED), "POST", "/run?done=false&size=3")
    assert (reply.json["done"], reply.json["size"]) == ({"eq": False}, {"eq": 3})


def test_what_was_not_sent_is_absent(ask: Ask) -> None:
    assert ask(with_function(FILTERED), "POST", "/run").json["size"] is None


def test_errors_name_fields_as_they_were_sent(ask: Ask) -> None:
    query = "done=maybe&made_at[gte]=soon&size[in]=1&size[in]=x&made_at[lt]=2026-01-01"
    found = fields(ask, FILTERED, query)
    assert set(found) == {"done", "made_at[gte]", "size[in].1"}
    assert set(fields(ask, FILTERED, "done[eq]=maybe")) == {"done[eq]"}
    assert set(fields(ask, FILTERED, "&".join(["size[in]=1"] * 4))) == {"size[in]"}


def test_a_value_without_brackets_and_without_eq_is_told_the_names(ask: Ask) -> None:
    found = fields(ask, FILTERED, "made_at=2026-01-01")
    assert found == {"made_at": ["needs a name in brackets, such as made_at[gte]"]}


def test_fields_that_must_be_there_are_missed_by_their_names(ask: Ask) -> None:
    text = """
query: { when: { fields: { gte: datetime, lt?: datetime } } }
steps:
  - return: { value: "${ query.when.gte }" }
"""
    assert fields(ask, text, "") == {"when": ["is required"]}
    assert fields(ask, text, "when[lt]=2026-01-01") == {"when[gte]": ["is required"]}


def test_undeclared_names_are_dropped_without_strict_query(ask: Ask) -> None:
    for name in HOSTILE:
        reply = ask(with_function(FILTERED), "POST", f"/run?{quote(name)}=1")
        assert (reply.status, reply.json["size"]) == (200, None)


def test_undeclared_names_are_refused_with_strict_query(ask: Ask) -> None:
    for name in HOSTILE:
        found = fields(ask, STRICT, f"{quote(name)}=1&size=2&size[in]=3")
        shown = name if len(name) <= 100 else f"{name[:100]}…"
        assert found == {shown: ["is not a known parameter"]}


def test_strict_query_lets_declared_names_pass(ask: Ask) -> None:
    query = "done=true&done[ne]=false&made_at[gte]=2026-01-01&size[in]=1&name=a"
    assert ask(with_function(STRICT), "POST", f"/run?{query}").status == 200


def test_strict_query_tells_wrong_values_and_unknown_names_together(ask: Ask) -> None:
    assert set(fields(ask, STRICT, "size=x&nmae=a")) == {"size", "nmae"}


def test_ten_thousand_names_are_refused_and_no_more_than_a_hundred_are_told(ask: Ask) -> None:
    reply = ask(with_function(FILTERED), "POST", "/run?" + "a[b]&" * 10_000)
    assert (reply.status, reply.json["error"]["message"]) == (
        400,
        "the query string cannot be read",
    )
    assert len(fields(ask, STRICT, "&".join(f"size[{at}]=1" for at in range(900)))) == 100


def test_strict_query_without_fields_takes_no_name(ask: Ask) -> None:
    text = "strictQuery: true\nsteps:\n  - return: { value: ok }\n"
    assert ask(with_function(text), "POST", "/run").json == "ok"
    assert set(fields(ask, text, "a=1")) == {"a"}


GUARD = """
query: { team?: { fields: { eq?: string } } }
steps:
  - set: { team: "${ query.team?.eq }" }
"""
OPEN = "steps:\n  - return: { value: ok }\n"


@pytest.mark.parametrize("is_middleware", [False, True])
def test_names_of_middleware_count_and_middleware_may_ask_for_it(
    ask: Ask, *, is_middleware: bool
) -> None:
    strict = ("strictQuery: true\n", "")
    channel = "name: api\nbasePath: /api\nauthentication: None\nmiddleware: [guard]\n"
    files = routes(
        "GET /x f -", channel=channel, guard=strict[not is_middleware] + GUARD,
        f=strict[is_middleware] + OPEN,
    )  # fmt: skip
    assert ask(files, "GET", "/api/x?team=a").status == 200
    assert ask(files, "GET", "/api/x?team[eq]=a").status == 200
    assert ask(files, "GET", "/api/x?team[ne]=a").status == 400


def test_an_endpoint_with_its_own_steps_is_strict(ask: Ask) -> None:
    files = routes()
    files["endpoints/own.yaml"] = f"""
method: GET
path: /own
authentication: None
{STRICT}"""
    assert ask(files, "GET", "/own?size[eq]=4").json["size"] == {"eq": 4}
    assert ask(files, "GET", "/own?sise=4").status == 400


def test_a_called_function_takes_a_map(ask: Ask) -> None:
    call = """
steps:
  - call: { function: f, query: { size: { eq: 5 } } }
    as: found
  - return: ${ vars.found }
"""
    files = routes("GET /call g None", f=FILTERED, g=call)
    reply = ask(files, "GET", "/call")
    assert reply.json["size"] == {"eq": 5}
