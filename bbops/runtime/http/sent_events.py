"""Server-sent events as bytes: written by answers that go on, read by who keeps or tests them.

Source: the HTML standard, "Server-sent events".
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

STREAM: Final = "text/event-stream"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def write_event(name: str, data: Any) -> bytes:
    """Return one event; its data is JSON, which has no line breaks."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), _encode(data))


def parse_events(body: bytes) -> list[dict[str, Any]]:
    """Return the events that `write_event` has written, as `{event, data}`; no comments."""
    found = []
    for one in body.decode("utf-8", "replace").split("\n\n"):
        name, _, data = one.partition("\n")
        if name.startswith("event: ") and data.startswith("data: "):
            try:
                known = _decode(data.removeprefix("data: "))
            except msgspec.DecodeError:  # the answer was cut here
                continue
            found.append({"event": name.removeprefix("event: "), "data": known})
    return found


def joined_texts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return events in which texts that follow each other are one."""
    found: list[dict[str, Any]] = []
    for one in events:
        if found and one["event"] == found[-1]["event"] == "text":
            whole = found[-1]["data"]["text"] + one["data"]["text"]
            found[-1] = {"event": "text", "data": {"text": whole}}
        else:
            found.append(one)
    return found
