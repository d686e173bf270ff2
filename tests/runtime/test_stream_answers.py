"""What becomes of a stream where a request does not go as usual."""

from __future__ import annotations

from pathlib import Path

from tests.vendors.asking import Asked
from tests.vendors.scenario import vendors
from tests.vendors.stand_in import StandIn
from tests.vendors.streamed import AI_MODEL

BROKEN = (
    "steps:\n  - try:\n      - return:\n          stream:\n            STEP\n"
    "    catch:\n      - log: { message: caught }\n"
    "    finally:\n      - throw: { status: 409, message: after all }\n"
)


def asked(box: Path, vendor: StandIn, function: str, method: str = "POST") -> Asked:
    config = f"config:\n  apiKey: ${{ env.MODEL_KEY }}\n  endpoint: {vendor.url}/v1\n"
    secrets = vendors()["aiModel"].secrets
    return Asked(box, "aiModel", config, function, env=secrets, method=method)


def test_a_stream_that_nobody_gets_is_closed(tmp_path: Path) -> None:
    with StandIn(AI_MODEL.answer) as vendor:
        one = asked(tmp_path, vendor, BROKEN.replace("STEP", AI_MODEL.step))
        reply = one.ask()
        assert len(vendor.asked) == 1
    assert (reply.status, reply.json["error"]["message"]) == (409, "after all")
    assert one.http._open == 0


def test_head_has_the_headers_of_a_stream_and_no_events(tmp_path: Path) -> None:
    function = f"steps:\n  - return:\n      stream:\n        {AI_MODEL.step}\n"
    with StandIn(AI_MODEL.answer) as vendor:
        one = asked(tmp_path, vendor, function, method="GET")
        one.method = "HEAD"
        reply = one.ask()
    assert (reply.status, reply.headers["content-type"], reply.body) == (
        200, "text/event-stream", b"",
    )  # fmt: skip
    assert one.http._open == 0


def test_headers_of_the_function_go_along(tmp_path: Path) -> None:
    function = (
        "steps:\n  - return:\n      headers: { x-kind: model, cache-control: no-cache }\n"
        f"      stream:\n        {AI_MODEL.step}\n"
    )
    with StandIn(AI_MODEL.answer) as vendor:
        reply = asked(tmp_path, vendor, function).ask()
    assert (reply.headers["x-kind"], reply.headers["cache-control"]) == ("model", "no-cache")
    assert reply.headers["x-accel-buffering"] == "no"
