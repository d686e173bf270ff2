"""Runs of agents whose model, or its server, answers what no model should."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from bbops.base.host import HttpRequest, HttpResponse
from bbops.compiler.testing.host import FakeHttp
from bbops.database.schema.place import Place
from bbops.runtime.agents.control import MOST_MESSAGES
from bbops.runtime.agents.conversation import remember
from bbops.runtime.agents.loop import MOST_CALLS
from bbops.runtime.agents.tables import MEMORY, RunRow, StepRow
from bbops.runtime.agents.values import MOST_TOKENS
from tests.support.agent_runs import AGENT, Desk, call, on_desk, place

__all__ = ["place"]

ONE_ATTEMPT = f"{AGENT}retry: {{ attempts: 1 }}\n"
SECRET = "k" * 40
SHAPED = f"{AGENT}output: {{ label?: string }}\n"


class Server(FakeHttp):
    """A server of models that gives one response after the other."""

    def __init__(self, *responses: tuple[int, Any]) -> None:
        super().__init__()
        self.responses = responses

    async def send(self, request: HttpRequest) -> HttpResponse:
        status, body = self.responses[min(len(self.sent), len(self.responses) - 1)]
        self.sent.append(request)
        return HttpResponse(
            status, {"content-type": "application/json"}, json.dumps(body).encode()
        )  # fmt: skip


def answer_of(text: str, **usage: Any) -> tuple[int, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    return 200, {"id": "c", "model": "large", "created": 1, "choices": [choice], "usage": usage}


def test_invented_tool_has_a_name_that_is_stored_and_shows_no_secret(place: Place) -> None:
    names = ["a\0dd\x1b[31m", f"tool {SECRET}"]

    async def do(desk: Desk) -> None:
        assert await desk.attempt("one") == "done"
        steps = (await desk.only_run()).steps
        tools = [step["name"] for step in steps if step["kind"] == "tool"]
        assert tools == ["a_dd__31m", "tool____"]
        assert SECRET not in str(steps)

    on_desk(place, [[call(name) for name in names], "Done."], do)


def test_answer_shows_no_value_of_a_secret_variable(place: Place) -> None:
    async def do(desk: Desk) -> None:
        assert await desk.attempt("one") == "done"
        assert (await desk.only_run()).answer == "The key is ***."

    on_desk(place, [f"The key is {SECRET}."], do)


def test_calls_beyond_the_most_of_an_answer_are_not_done(place: Place) -> None:
    calls = [call("add", text=str(at)) for at in range(MOST_CALLS + 2)]

    async def do(desk: Desk) -> None:
        assert await desk.attempt("one") == "done"
        assert await desk.notes() == [str(at) for at in range(MOST_CALLS)]
        last = json.loads(desk.vendor.sent[-1].body)["messages"]
        results = [message["content"] for message in last if message["role"] == "tool"]
        assert results[MOST_CALLS:] == [f"not done: an answer may have {MOST_CALLS} calls"] * 2

    on_desk(place, [calls, "Done."], do)


@pytest.mark.parametrize(("given", "counted"), [
    ({"prompt_tokens": 10**30, "completion_tokens": 2**63}, (MOST_TOKENS, MOST_TOKENS)),
    ({"prompt_tokens": -5, "completion_tokens": 1.5}, (0, 0)),
    ({"prompt_tokens": True, "completion_tokens": "7"}, (0, 0)),
])  # fmt: skip
def test_impossible_usage_ends_no_run(
    place: Place, given: dict[str, Any], counted: tuple[int, int]
) -> None:
    async def do(desk: Desk) -> None:
        desk.vendor = Server(answer_of("Hello.", **given))  # type: ignore[assignment]
        assert await desk.attempt("one") == "done"
        run = (await desk.only_run()).run
        assert (run.tokens_in, run.tokens_out) == counted

    on_desk(place, [], do, AGENT.replace("tokens: 1000", "tokens: 9000000000"))


def test_nul_in_an_error_of_the_server_does_not_keep_the_job(place: Place) -> None:
    async def do(desk: Desk) -> None:
        error = {"error": {"message": "bad \0 thing", "type": "x"}}
        desk.vendor = Server((400, error))  # type: ignore[assignment]
        assert await desk.attempt("one") == "dead"
        ((error_text,),) = await desk.database.read("SELECT error FROM _bbops_jobs")
        assert error_text.endswith("bad  thing")
        assert "bad  thing" in (await desk.only_run()).run.error

    on_desk(place, [], do, ONE_ATTEMPT)


def test_run_that_is_retried_after_its_death_has_no_error(place: Place) -> None:
    async def do(desk: Desk) -> None:
        desk.vendor = Server((400, {}), answer_of("Hello."))  # type: ignore[assignment]
        assert await desk.attempt("one") == "dead"
        assert (await desk.only_run()).run.state == "failed"
        await desk.database.change("UPDATE _bbops_jobs SET state = 'ready', attempts = 0")
        assert await desk.attempt("two") == "done"
        run = (await desk.only_run()).run
        assert (run.state, run.error) == ("done", "")

    on_desk(place, [], do, ONE_ATTEMPT)


@pytest.mark.parametrize("arguments", ['{"label": "a', "[]", "5"])
def test_answer_that_is_not_a_map_is_a_mistake(place: Place, arguments: str) -> None:
    script: Sequence[Any] = [
        [{"name": "answer", "arguments": arguments}],
        [call("answer", label="b")],
    ]

    async def do(desk: Desk) -> None:
        assert await desk.attempt("one") == "done"
        assert (await desk.only_run()).answer == {"label": "b"}

    on_desk(place, script, do, SHAPED)


@pytest.mark.parametrize(("state", "is_busy"), [("held", True), ("later", True), ("dead", False)])
def test_chat_is_busy_until_its_turn_has_ended(place: Place, state: str, is_busy: bool) -> None:
    async def do(desk: Desk) -> None:
        assert await desk.attempt("one") == "waiting"
        await desk.database.change("UPDATE _bbops_runs SET chat = 'c'")
        await desk.database.change("UPDATE _bbops_jobs SET state = ?", (state,))
        assert await desk.control.is_busy("c") is is_busy
        assert not await desk.control.is_busy("other")

    on_desk(place, [[call("add", text="one")], "Done."], do, approval="true")


def test_long_chat_shows_its_newest_messages_and_remembers_whole_turns(place: Place) -> None:
    async def do(desk: Desk) -> None:
        await fill(desk, turns=MOST_MESSAGES)
        shown = [message["text"] for message in await desk.control.messages("c")]
        assert shown[-2:] == [f"question {MOST_MESSAGES - 1}", f"reply {MOST_MESSAGES - 1}"]
        assert len(shown) == MOST_MESSAGES
        for most, remembered in ((4, 4), (5, 4), (1, 0)):
            rows = await desk.database.read(MEMORY, ("c", "new", most + 1))
            assert len(remember(rows, most)) == remembered

    on_desk(place, [], do)


async def fill(desk: Desk, *, turns: int) -> None:
    """Add ended turns to the chat `c`."""
    for at in range(turns):
        row = RunRow(f"run{at:04}", "keeper", "chat", "c", "ada")
        model = {"text": f"reply {at}", "calls": [], "isCut": False}
        await desk.database.write_all([
            row.insert("done", at),
            StepRow(0, "message", "", {"text": f"question {at}"}, at).insert(row.uid),
            StepRow(1, "model", "", model, at).insert(row.uid),
        ])  # fmt: skip
