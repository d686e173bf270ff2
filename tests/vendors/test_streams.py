"""Answers of models piece by piece: as the vendors' own libraries read the same bytes."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bbops.language.addons._base import kinds
from bbops.runtime.http import stream_answers
from bbops.runtime.http.exchanges import parse_events
from bbops.runtime.vendors import link_addon
from bbops.runtime.vendors._streaming import EventLines
from tests.vendors.asking import Asked
from tests.vendors.dripping import Dripping
from tests.vendors.scenario import CANARY, vendors
from tests.vendors.stand_in import Answer, StandIn
from tests.vendors.streamed import (
    AI_MODEL,
    CHAT_MODEL,
    EVERY,
    KIND,
    Streamed,
    choice,
    chunks,
    events,
    streaming,
)

one_each = pytest.mark.parametrize("streamed", EVERY, ids=[one.addon for one in EVERY])


def asked(box: Path, streamed: Streamed, url: str, function: str = "") -> Asked:
    return vendors()[streamed.addon].asked(box, function or streaming(streamed.step), url)


def events_of(box: Path, streamed: Streamed, answer: Answer) -> list[dict[str, Any]]:
    with StandIn(answer) as stand_in:
        reply = asked(box, streamed, stand_in.url).ask()
    assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream")
    return parse_events(reply.body)


@one_each
def test_texts_come_as_the_vendor_sends_them_and_the_whole_at_the_end(
    tmp_path: Path, streamed: Streamed
) -> None:
    *texts, done = events_of(tmp_path, streamed, streamed.answer)
    assert texts == [{"event": "text", "data": {"text": one}} for one in streamed.texts]
    assert done["event"] == "done"


@pytest.mark.long
@one_each
def test_pieces_and_whole_are_those_of_the_vendors_library(
    tmp_path: Path, streamed: Streamed
) -> None:
    *texts, done = events_of(tmp_path, streamed, streamed.answer)
    with StandIn(streamed.answer) as stand_in:
        theirs, whole = streamed.library(stand_in.url)
    assert [one["data"]["text"] for one in texts] == [*filter(None, theirs)]
    ours = done["data"]
    assert {name: _plain(whole[name]) for name in ours} == ours


def _plain(value: Any) -> Any:
    """Return what a library gives without what it adds to the vendor's own answer."""
    if isinstance(value, dict):
        added = {"parsed", "parsed_arguments", *(("index",) if "function" in value else ())}
        return {
            name: _plain(one) for name, one in value.items()
            if name not in added and (one is not None or name == "content")
        }  # fmt: skip
    return [_plain(one) for one in value] if isinstance(value, list) else value


@pytest.mark.long
@one_each
def test_the_request_is_that_of_the_vendors_library(tmp_path: Path, streamed: Streamed) -> None:
    vendor = vendors()[streamed.addon]
    with StandIn(streamed.answer) as stand_in:
        asked(tmp_path, streamed, stand_in.url).ask()
        streamed.library(stand_in.url)
        ours, theirs = map(vendor.parts, stand_in.asked)
    differs = {name for name in ours if ours[name] != theirs[name]}
    assert differs <= {"anthropic-version"}, (ours, theirs)


@one_each
def test_an_error_of_the_vendor_before_its_answer_is_an_ordinary_one(
    tmp_path: Path, streamed: Streamed
) -> None:
    step = streaming(streamed.step).replace("\n", "\n      ").strip()
    function = (
        f"steps:\n  - try:\n      - {step.removeprefix('steps:').strip().removeprefix('- ')}\n"
        "    catch:\n      - throw: { status: 429, message: '${ error.message }' }\n"
    )
    vendor = vendors()[streamed.addon]
    with StandIn(Answer(429, vendor.refusal)) as stand_in:
        reply = asked(tmp_path, streamed, stand_in.url, function).ask()
    assert reply.status == 429
    assert vendor.words in reply.json["error"]["message"]


@one_each
def test_a_refusal_is_tried_again_before_the_answer_begins(
    tmp_path: Path, streamed: Streamed
) -> None:
    function = streaming(streamed.step, "retry: { attempts: 3, backoff: 1ms }")
    refusal = Answer(503, vendors()[streamed.addon].refusal)
    with StandIn(refusal, refusal, streamed.answer) as stand_in:
        reply = asked(tmp_path, streamed, stand_in.url, function).ask()
        assert len(stand_in.asked) == 3
    assert parse_events(reply.body)[-1]["event"] == "done"


@one_each
def test_a_vendor_that_breaks_off_ends_with_an_error_and_what_came_before(
    tmp_path: Path, streamed: Streamed
) -> None:
    cut = streamed.sent[: -streamed.ends] + streamed.broken
    with StandIn(Answer(body=cut, headers=KIND)) as stand_in:
        one = asked(tmp_path, streamed, stand_in.url)
        reply = one.ask()
    *texts, error = parse_events(reply.body)
    assert [it["data"]["text"] for it in texts] == streamed.texts
    assert error["event"] == "error"
    assert error["data"]["code"] == "serverError"
    assert error["data"]["requestId"] == reply.headers["x-request-id"]
    assert streamed.words in one.log
    assert "functions/run.yaml:4" in one.log


@one_each
def test_an_answer_that_ends_in_the_middle_is_no_whole_one(
    tmp_path: Path, streamed: Streamed
) -> None:
    cut = streamed.sent[: -streamed.ends]
    found = events_of(tmp_path, streamed, Answer(body=cut, headers=KIND))
    assert [one["event"] for one in found] == ["text"] * len(streamed.texts) + ["error"]


@one_each
@pytest.mark.parametrize("sent", ["data: no json\n\n", "data: []\n\n", 'data: {"type": 5}\n\n\xff'])
def test_what_is_not_of_the_vendors_form_ends_with_an_error(
    tmp_path: Path, streamed: Streamed, sent: str
) -> None:
    found = events_of(tmp_path, streamed, Answer(body=sent, headers=KIND))
    assert [one["event"] for one in found] == ["error"]


@one_each
def test_an_answer_as_a_whole_is_no_stream(tmp_path: Path, streamed: Streamed) -> None:
    with StandIn(Answer(body={})) as stand_in:
        reply = asked(tmp_path, streamed, stand_in.url).ask()
    assert reply.status == 500
    assert "text/event-stream" in reply.json["error"]["detail"]


@one_each
def test_what_a_vendor_says_repeats_no_key(tmp_path: Path, streamed: Streamed) -> None:
    broken = streamed.broken.replace(streamed.words, f"bad key {CANARY}")
    with StandIn(Answer(body=broken, headers=KIND)) as stand_in:
        one = asked(tmp_path, streamed, stand_in.url)
        reply = one.ask()
    assert CANARY not in reply.body.decode()
    assert "bad key ***" in one.log
    assert CANARY not in one.log


def test_a_server_with_the_same_protocol_may_end_without_done(tmp_path: Path) -> None:
    sent = chunks(choice({"content": "a"}), choice({}, "stop"))
    found = events_of(tmp_path, AI_MODEL, Answer(body=sent, headers=KIND))
    assert [one["event"] for one in found] == ["text", "done"]
    assert found[1]["data"]["choices"][0]["message"]["content"] == "a"


def test_of_several_answers_the_first_one_comes_piece_by_piece(tmp_path: Path) -> None:
    sent = chunks(
        choice({"content": "a"}), choice({"content": "x"}, index=1),
        choice({"content": "b"}, "stop"), choice({}, "stop", index=1),
    )  # fmt: skip
    *texts, done = events_of(tmp_path, AI_MODEL, Answer(body=sent, headers=KIND))
    assert [one["data"]["text"] for one in texts] == ["a", "b"]
    assert [one["message"]["content"] for one in done["data"]["choices"]] == ["ab", "x"]


def test_a_comment_comes_while_the_vendor_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stream_answers.BEAT_SECONDS == 15
    monkeypatch.setattr(stream_answers, "BEAT_SECONDS", 0.05)
    with Dripping() as vendor:

        def sometimes() -> None:
            asked = vendor.next()
            asked.say("a")
            time.sleep(1)
            asked.say("b")
            asked.end()

        speaking = threading.Thread(target=sometimes)
        speaking.start()
        reply = asked(tmp_path, AI_MODEL, vendor.url).ask()
        speaking.join()
    between = reply.body.partition(b'{"text":"a"}')[2].partition(b'{"text":"b"}')[0]
    assert between.count(b": beat\n\n") >= 2
    assert [one["event"] for one in parse_events(reply.body)] == ["text", "text", "done"]


def test_a_time_of_the_step_is_for_all_pieces(tmp_path: Path) -> None:
    function = streaming(AI_MODEL.step, "timeout: 500ms")
    with Dripping() as vendor:
        speaking = threading.Thread(target=lambda: vendor.next().say("a"))
        speaking.start()
        one = asked(tmp_path, AI_MODEL, vendor.url, function)
        reply = one.ask()
        speaking.join()
    assert [it["event"] for it in parse_events(reply.body)] == ["text", "error"]
    assert "did not answer in time" in one.log


@pytest.mark.parametrize("piece", [5, ["a"], {"a": 1}])
def test_a_piece_that_is_no_text_ends_with_an_error(tmp_path: Path, piece: Any) -> None:
    chat = events(
        {"type": "message_start", "message": {"id": "m", "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}},
        {"type": "message_stop"},
    )
    for streamed, sent in ((CHAT_MODEL, chat), (AI_MODEL, chunks(choice({"content": piece})))):
        found = events_of(tmp_path, streamed, Answer(body=sent, headers=KIND))
        assert [one["event"] for one in found] == ["error"]


def test_an_event_of_a_newer_version_is_passed_over(tmp_path: Path) -> None:
    newer = 'event: sparkle\ndata: {"type": "sparkle", "glitter": [1]}\n\n'
    answer = Answer(body=newer + CHAT_MODEL.sent, headers=KIND)
    assert events_of(tmp_path, CHAT_MODEL, answer)[-1]["event"] == "done"


def test_the_steps_that_are_declared_to_stream_are_those_that_do() -> None:
    for addon, kind in kinds().items():
        declared = {name for name, action in kind.actions.items() if action.streams}
        linked = link_addon(addon, {"config": {}}, {}.get)
        assert linked.streams.keys() == declared, addon


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_are_the_same_wherever_their_bytes_are_cut(end: str) -> None:
    text = "event: a\ndata: é\ndata: 2\n\n: beat\n\ndata:x\nid: 5\n\ndata\n\n".replace("\n", end)
    data = text.encode() + b":\n"
    for size in range(1, 9):
        lines, found = EventLines(), []
        for at in range(0, len(data), size):
            found += lines.feed(data[at : at + size])
        assert found == [("a", "é\n2"), ("", "x"), ("", "")], size


def test_an_event_without_end_is_refused() -> None:
    lines, much = EventLines(), b"data: " + b"x" * (1 << 18)
    assert list(lines.feed(much)) == []
    with pytest.raises(ValueError, match="too large"):
        list(lines.feed(4 * much))
