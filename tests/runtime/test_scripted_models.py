"""The stand-in for models: both protocols through the addons' steps, and the faults of a script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from bbops.language.resources.agent import MODEL_ADDONS
from bbops.runtime.agents.conversation import CallResult, Message, ModelAnswer, UserMessage
from bbops.runtime.agents.dialects import dialect_of
from tests.support.models import (
    BadArguments,
    Broken,
    Busy,
    Call,
    CutOff,
    Cuts,
    ModelServer,
    Reply,
    Say,
    Slow,
    Together,
    scripted_models,
)
from tests.support.models.conversations import SETTINGS, TOOLS, body_of
from tests.support.patience import PATIENCE_SECONDS
from tests.vendors.asking import Asked
from tests.vendors.scenario import returning

HELLO = UserMessage("hello")
PATHS = {"aiModel": "/v1/chat/completions", "chatModel": "/v1/messages"}


def ask(box: Path, models: ModelServer, addon: str, messages: list[Message]) -> ModelAnswer:
    """Return the answer to a request by the addon's step."""
    dialect = dialect_of(addon)
    given = dialect.write(SETTINGS, "Be kind.", messages, TOOLS)
    config = f"config:\n  apiKey: ${{ env.MODEL_KEY }}\n  endpoint: {models.url}\n"
    step = returning(f"{dialect.step}: {json.dumps(given)}")
    reply = Asked(box, addon, config, step, env={"MODEL_KEY": models.key}).ask()
    assert reply.status == 200, reply.body
    return dialect.read(json.loads(reply.body))


def post(models: ModelServer, addon: str, *messages: Message, **more: Any) -> httpx.Response:
    body = body_of(dialect_of(addon), messages or [HELLO]) | more
    headers = {"authorization": f"Bearer {models.key}"}
    return httpx.post(
        models.url + PATHS[addon], headers=headers, json=body, timeout=PATIENCE_SECONDS
    )


@pytest.mark.parametrize("addon", MODEL_ADDONS)
def test_script_answers_through_the_step_of_the_addon(tmp_path: Path, addon: str) -> None:
    first = Together(Say("Looking"), Call("order_get", {"id": 7}), Call("no-such-tool"))
    script: list[Reply] = [first, Cuts(Say("It is", expect="paid")), Say("on its way")]
    with scripted_models(script) as models:
        messages: list[Message] = [HELLO]
        answer = ask(tmp_path, models, addon, messages)
        assert answer.message.text == "Looking"
        names = [(call.name, call.arguments) for call in answer.message.calls]
        assert names == [("order_get", {"id": 7}), ("no-such-tool", {})]
        assert (answer.tokens_in, answer.tokens_out) == (20, 5)
        found, unknown = answer.message.calls
        results = [CallResult(found, "paid"), CallResult(unknown, "unknown", is_error=True)]
        messages += [answer.message, *results]
        cut = ask(tmp_path, models, addon, messages)
        assert cut.is_cut
        last = ask(tmp_path, models, addon, [*messages, cut.message, UserMessage("go on")])
        assert last.message.text == "on its way"
    assert models.requests[1].results == ["paid", "unknown"]
    assert models.requests[2].texts == ["go on"]
    assert models.requests[0].instructions == "Be kind."
    assert models.requests[0].tools == ["order_get", "refund-order"]


@pytest.mark.parametrize("addon", MODEL_ADDONS)
def test_bad_arguments_arrive_as_their_text(tmp_path: Path, addon: str) -> None:
    with scripted_models([BadArguments("order_get", "{"), Say("ok", expect="bad")]) as models:
        answer = ask(tmp_path, models, addon, [HELLO])
        (call,) = answer.message.calls
        assert (call.name, call.arguments) == ("order_get", None)
        result = CallResult(call, "bad", is_error=True)
        assert ask(tmp_path, models, addon, [HELLO, answer.message, result]).message.text == "ok"


@pytest.mark.parametrize("addon", MODEL_ADDONS)
def test_faults_come_in_their_order_and_end(addon: str) -> None:
    with scripted_models([Busy(2, 7), Broken(), CutOff(), Slow(0.01), Say("here")]) as models:
        busy = [post(models, addon) for _ in range(2)]
        assert [response.headers["retry-after"] for response in busy] == ["7", "7"]
        assert post(models, addon).status_code == 500
        with pytest.raises(httpx.RemoteProtocolError):
            post(models, addon)
        assert "here" in post(models, addon).text
        assert "here" in post(models, addon).text, "a repeated request has the same answer"
    assert [request.status for request in models.requests] == [429, 429, 500, 0, 200, 200]


@pytest.mark.parametrize("addon", MODEL_ADDONS)
def test_request_that_does_not_fit_is_a_failure(addon: str) -> None:
    with scripted_models([Say("a", expect="paid")]) as models:
        assert post(models, addon).status_code == 400
        assert post(models, addon, HELLO, messages=[]).status_code == 400
        (missing, empty) = models.failures
        assert "expected 'paid'" in missing
        assert "the first message must be the user's" in empty
        models.failures.clear()
    with pytest.raises(AssertionError, match="ended after 0 answers"), scripted_models([]) as none:
        post(none, addon)


def test_each_model_has_its_own_script() -> None:
    with scripted_models({"small": [Say("one")], "large": [Say("two")]}) as models:
        assert "one" in post(models, "aiModel").text
        assert "two" in post(models, "aiModel", model="large").text


@pytest.mark.parametrize("addon", MODEL_ADDONS)
def test_wrong_key_is_rejected(addon: str) -> None:
    with (
        scripted_models([Say("a")]) as models,
        httpx.Client(base_url=models.url, timeout=PATIENCE_SECONDS) as client,
    ):
        wrong = {"x-api-key": "sk-wrong"}
        assert client.post(PATHS[addon], json={}, headers=wrong).status_code == 401
        assert client.get("/v1/models", headers=wrong).status_code == 401
        listed = client.get("/v1/models", headers={"x-api-key": models.key})
        assert [model["id"] for model in listed.json()["data"]] == ["scripted"]
