"""The real doors: clock, chance, log."""

from __future__ import annotations

import io
import json
import logging
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from bbops_server.process.host.log import JsonLog, LogHandler
from bbops_server.process.host.system import SystemClock, SystemRandom

pytestmark = pytest.mark.quick


def log_line(level: str, message: Any, data: dict[str, Any]) -> dict[str, Any]:
    stream = io.BytesIO()
    JsonLog(stream).write(level, message, data)
    assert stream.getvalue().count(b"\n") == 1
    return dict(json.loads(stream.getvalue()))


def test_the_clock_tells_aware_utc_time() -> None:
    now = SystemClock().now()
    assert now.utcoffset() == timedelta(0)


def test_tokens_have_the_asked_length_and_signs() -> None:
    assert re.fullmatch(r"[a-z0-9]{50}", SystemRandom().token(50))


def test_integers_reach_both_ends() -> None:
    assert {SystemRandom().integer(1, 3) for _ in range(200)} == {1, 2, 3}
    assert SystemRandom().integer(-5, -5) == -5


def test_uuids_are_lower_case_and_differ() -> None:
    one, other = SystemRandom().uuid(), SystemRandom().uuid()
    assert one != other
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", one)


def test_a_message_never_splits_a_line() -> None:
    line = log_line("info", 'one\ntwo\r{"level":"error"}', {"step": "a.yaml:1"})
    assert line["message"] == 'one\ntwo\r{"level":"error"}'
    assert line["step"] == "a.yaml:1"
    assert datetime.fromisoformat(line["time"]).utcoffset() == timedelta(0)


def test_data_cannot_hide_level_and_message() -> None:
    line = log_line("error", "true", {"level": "info", "message": "false"})
    assert (line["level"], line["message"]) == ("error", "true")


def test_every_value_of_a_flow_can_be_logged() -> None:
    data = {"a": Decimal("1.50"), "b": date(2026, 1, 2), "c": datetime(2026, 1, 2, tzinfo=UTC),
            "d": b"x", "e": [None, True, {"f": 1.5}]}  # fmt: skip
    assert log_line("info", "x", {"data": data})["data"]["a"] == "1.50"


@pytest.mark.parametrize("odd", ["\ud800", 2**70, {1: {2: object()}}, float("nan")])
def test_what_json_cannot_hold_is_told_in_words(odd: Any) -> None:
    assert log_line("info", "kept", {"data": odd})["message"] == "kept"


def test_deep_data_does_not_fail_the_request() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    line = log_line("info", "kept", {"data": deep})
    assert line["data"] == "a list nested too deeply"


def test_a_reader_that_left_does_not_fail_the_request() -> None:
    stream = io.BytesIO()
    stream.close()
    JsonLog(stream).write("info", "nobody reads this", {})


def test_libraries_log_in_the_same_form() -> None:
    stream = io.BytesIO()
    handler = LogHandler(JsonLog(stream))
    record = logging.LogRecord("uvicorn.error", logging.WARNING, "x", 1, "odd %s", ("one",), None)
    handler.emit(record)
    line = json.loads(stream.getvalue())
    assert (line["level"], line["message"], line["logger"]) == (
        "warning",
        "odd one",
        "uvicorn.error",
    )
