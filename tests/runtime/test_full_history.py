"""What the history keeps of each endpoint: a line, nothing, or input and output without secrets."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.compiler.testing.client import Client
from bbops.runtime.flow.masking import Mask, mask_value
from bbops.runtime.http.exchanges import MOST_KEPT, MOST_READ_BYTES, TOO_LONG, Exchange
from bbops.runtime.http.responses import ANSWERED
from tests.conftest import ENV, Files, Serving, run, with_function
from tests.support.raw_requests import token

ECHO = "input: { a?: json }\nsteps:\n  - return: { value: '${ input }' }\n"
FAIL = "input: { a?: json }\nsteps:\n  - return: { value: '${ input.a + 1 }' }\n"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
HASH = "$2b$12$" + "a" * 53

Tell = Callable[[Client], Any]


def full(function: str = ECHO, level: str = "full") -> Files:
    files = with_function(function)
    files["endpoints/run.yaml"] += f"history: {level}\n"
    return files


@pytest.fixture
def kept(serving: Serving) -> Callable[[Files, Tell], list[dict[str, Any]]]:
    """Return what the history hears while a story is told."""

    def listen(files: Files, tell: Tell) -> list[dict[str, Any]]:
        heard: list[tuple[Any, ...]] = []

        async def whole() -> None:
            async with serving(files, history=heard.append) as client:
                await tell(client)

        run(whole())
        return [dict(zip(ANSWERED, one, strict=False)) for one in heard]

    return listen


Kept = Callable[[Files, Tell], list[dict[str, Any]]]


def one_of(kept: Kept, body: Any, files: Files | None = None, **options: Any) -> Any:
    async def tell(client: Client) -> None:
        await client.ask("POST", options.pop("path", "/run"), body, **options)

    (found,) = kept(files or full(), tell)
    return found


def test_a_full_history_keeps_what_was_asked_and_answered(kept: Kept) -> None:
    headers = {"x-own": "yes", "content-type": "application/json"}
    found = one_of(kept, {"a": [1, "two"]}, headers=headers, path="/run?q=1&q=2&page=")
    exchange = found["exchange"]
    assert exchange["query"] == [["q", "1"], ["q", "2"], ["page", ""]]
    assert exchange["headers"]["x-own"] == "yes"
    assert exchange["input"] == exchange["output"] == '{"a":[1,"two"]}'
    assert (found["endpoint"], exchange["type"]) == ("run", "application/json")


@pytest.mark.parametrize("level", ["meta", "off"])
def test_less_is_kept_where_less_is_wanted(kept: Kept, level: str) -> None:
    async def tell(client: Client) -> None:
        await client.ask("POST", "/run", {"a": 1})
        await client.ask("POST", "/none")

    found = kept(full(level=level), tell)
    assert [one["path"] for one in found] == {"meta": ["/run", "/none"], "off": ["/none"]}[level]
    assert not any(one.get("exchange") for one in found)


def test_secrets_are_kept_by_no_name(kept: Kept) -> None:
    body = {"a": {"password": "p1", "newPassword": {"x": "p2"}, "card": [{"cvc": "p3"}], "id": 7}}
    headers = {
        "authorization": "Bearer p4", "cookie": "s=p5", "x-api-key": "p6", "x-csrf-token": "p7",
    } | token()  # fmt: skip
    found = one_of(kept, body, headers=headers, path="/run?api_key=p8&reset_token=p9&q=1")
    text = str(found["exchange"])
    assert all(f"p{number}" not in text for number in range(1, 10))
    assert '"id":7' in found["exchange"]["input"]
    assert ["q", "1"] in found["exchange"]["query"]


def test_secrets_are_kept_by_no_value(kept: Kept) -> None:
    said = f"x {JWT} y {HASH} z {ENV['JWT_SECRET']} rt_{'a' * 40} Bearer abcdefgh.ijk"
    found = one_of(kept, {"a": said}, path="/run?q=" + JWT)
    text = str(found["exchange"])
    for secret in (JWT, HASH, ENV["JWT_SECRET"], "rt_aaaa", "abcdefgh.ijk"):
        assert secret not in text
    assert "x *** y *** z *** ***" in found["exchange"]["output"]


def test_private_columns_are_kept_under_no_name(kept: Kept) -> None:
    files = full()
    files["tables/people.yaml"] = (
        "columns:\n  id: { type: integer, primaryKey: true }\n"
        "  shoe_size: { type: integer, private: true }\n"
    )
    found = one_of(kept, {"a": {"shoe_size": 4711, "size": 5}}, files)
    assert "4711" not in str(found["exchange"])
    assert '"size":5' in found["exchange"]["input"]


def test_a_form_is_kept_by_its_fields(kept: Kept) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    found = one_of(kept, None, raw=b"a=1&password=p1", headers=headers)
    assert msgspec.json.decode(found["exchange"]["input"]) == {"a": "1", "password": "***"}


def test_what_is_long_is_cut_and_told_apart(kept: Kept) -> None:
    async def tell(client: Client) -> None:
        for size in (MOST_KEPT, MOST_READ_BYTES - 8, MOST_READ_BYTES):
            await client.ask("POST", "/run", {"a": "x" * size}, headers={"accept-encoding": "gzip"})

    found = [one["exchange"] for one in kept(full(), tell)]
    assert all(len(one["output"]) <= MOST_KEPT + 1 for one in found)
    assert found[0]["output"].startswith('{"a":"xxx')
    assert found[0]["output"].endswith(TOO_LONG)
    assert found[2]["output"] == found[2]["input"] == TOO_LONG
    assert len({one["digest"] for one in found}) == 3


def test_a_failure_tells_the_way_to_it(kept: Kept) -> None:
    files = full(
        "input: { a?: json }\nsteps:\n  - call: { function: deep, input: { a: '${ input.a }' } }\n"
    )
    files["functions/deep.yaml"] = FAIL
    found = one_of(kept, {"a": "text"}, files)
    assert found["steps"] == ["functions/run.yaml:3", "functions/deep.yaml:3"]
    assert found["step"] == "functions/deep.yaml:3"
    assert found["exchange"]["output"].startswith('{"error"')


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_masking_changes_no_shape_and_finds_every_password(value: Any) -> None:
    hidden = {"password": "do-not-keep", "rest": value}
    found = mask_value([hidden, value])
    assert "do-not-keep" not in str(found)
    assert type(found[1]) in {type(value), str}


@given(st.binary(max_size=300), st.sampled_from(["application/json", "text/plain", "x", ""]))
def test_any_bytes_can_be_kept(body: bytes, kind: str) -> None:
    exchange = Exchange(Mask())
    exchange._came += body
    exchange._went += gzip.compress(body)[: len(body)]
    headers = [(b"content-type", kind.encode()), (b"content-encoding", b"gzip")]
    exchange._headers = headers
    found = exchange.record({"query_string": body, "headers": headers})
    assert msgspec.msgpack.encode(found)
