"""Mocks of addresses: what `bbops test` lets a step `http` hear."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bbops.base.host import HttpRequest
from bbops.compiler.testing.mocks import Mocks
from bbops.runtime.values.failures import HttpFailure, Thrown

URL = "https://api.example.com/x"


def ask(result: Any, url: str = URL) -> tuple[Any, Mocks]:
    mocks = Mocks({URL: result})
    answer = asyncio.run(mocks.send(HttpRequest("POST", url, {}, b'{"a":1}', 1.0)))
    return (answer.status, answer.body), mocks


def test_a_mock_answers_with_or_without_the_query() -> None:
    found, mocks = ask({"id": 7}, f"{URL}?a=1")
    assert found == (200, b'{"id":7}')
    (call,) = mocks.calls[URL]
    assert (call["method"], call["body"]) == ("POST", {"a": 1})


def test_a_mock_may_say_the_status() -> None:
    assert ask({"status": 404, "body": None})[0] == (404, b"")


def test_a_mock_may_be_an_error() -> None:
    with pytest.raises(HttpFailure, match="out of ink") as raised:
        ask({"error": {"status": 503, "message": "out of ink"}})
    assert raised.value.answered == 503


def test_an_address_without_a_mock_fails() -> None:
    with pytest.raises(HttpFailure, match="is not mocked"):
        ask({}, "https://other.example.com/")


@pytest.mark.parametrize(
    ("step", "status"),
    [
        ("identityToken.verifyIdToken", 401),
        ("identityToken.getUser", 404),
        ("payments.verifyWebhookSignature", 400),
    ],
)
def test_an_error_with_which_a_step_answers_is_the_answer(step: str, status: int) -> None:
    mocks = Mocks({step: {"error": {"status": status, "message": "refused"}}})
    with pytest.raises(Thrown, match="refused") as raised:
        asyncio.run(mocks.call(step, {}))
    assert raised.value.status == status


def test_any_other_status_is_an_error_of_the_vendor() -> None:
    mocks = Mocks({"identityToken.getUser": {"error": {"status": 503}}})
    with pytest.raises(HttpFailure, match=r"'identityToken.getUser' failed") as raised:
        asyncio.run(mocks.call("identityToken.getUser", {}))
    assert raised.value.answered == 503
