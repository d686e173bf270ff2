"""Responses as the Playground shows them: texts, binary data, and differences."""

from __future__ import annotations

import base64
import json

import pytest

from bbops.review.contract.form_requests import OutgoingRequest
from bbops.review.replay.sending import Reply
from bbops_server.control_plane.playground.results import (
    PlaygroundResult,
    find_differences,
    write_result,
)
from bbops_server.mcp.requests import Exchanged

JSON = (("content-type", "application/json"), ("set-cookie", "a=1"), ("set-cookie", "b=2"))


def result(body: bytes, *, is_cut: bool = False) -> PlaygroundResult:
    exchanged = Exchanged("c" * 40, Reply(200, JSON, body, is_cut), 1.5)
    request = OutgoingRequest("GET", "/notes")
    return write_result(exchanged, request, None, draft="", url="http://127.0.0.1:8000/")


def test_json_is_indented() -> None:
    assert result(b'{"a":[1]}').pretty == '{\n  "a": [\n    1\n  ]\n}'
    assert result(b'{"a":').pretty == '{"a":'
    assert result(b"[" * 5_000).pretty == "[" * 5_000


@pytest.mark.parametrize("body", [b"\xff\xfe\x00", b"a\x00b", b"\x89PNG\r\n"])
def test_binary_body_is_base64(body: bytes) -> None:
    shown = result(body)
    assert (shown.body, base64.b64decode(shown.base64)) == ("", body)


def test_cut_text_ends_with_a_whole_character() -> None:
    assert result("aé".encode()[:-1], is_cut=True).body == "a"
    assert result(b"\xff\xff\xff\xff\xff", is_cut=True).base64


def test_repeated_headers_are_kept() -> None:
    assert result(b"").headers == list(JSON)


def reply(body: object, status: int = 200) -> Reply:
    return Reply(status, JSON, json.dumps(body).encode())


def test_differences_have_a_place_and_no_secrets() -> None:
    live = reply({"fee": 1, "token": "live-secret", "same": True})
    draft = reply({"fee": 2, "token": "draft-secret", "same": True, "new": 3}, 201)
    found = find_differences(live, draft)
    assert [(item.at, item.live, item.draft) for item in found] == [
        ("status", "200", "201"), ("/fee", "1", "2"), ("/new", "(nothing)", "3"),
    ]  # fmt: skip
    assert "secret" not in str(found)
    assert find_differences(live, live) == []
