"""Deliveries of webhooks as JSON, in the same form for every process, page and program."""

from __future__ import annotations

import msgspec


class Delivery(msgspec.Struct, frozen=True):
    """A message of another service, or one that was sent to a receiver.

    `direction` is received or sent, `of` the trigger or the webhook, `at` when it came or was made,
    in seconds since 1970. `state` is received, waiting (it is tried again), delivered, failed (it
    is not) or dropped (its receiver was disabled or removed).
    """

    id: str
    direction: str
    of: str
    at: float
    state: str
    event: str = ""
    receiver: str = ""
    tries: int = 0
    error: str = ""


class DeliveryTry(msgspec.Struct, frozen=True):
    """One try: when, what the receiver answered (at most 1 KB of it), or why it did not."""

    at: float
    status: int | None
    answer: str
    error: str


class DeliveryStory(msgspec.Struct, frozen=True):
    """What is kept of a delivery: headers (of received ones), the body, the tries (of sent)."""

    delivery: Delivery
    headers: list[tuple[str, str]]
    body: str
    tries: list[DeliveryTry]


class JsonReceiver(msgspec.Struct, frozen=True):
    """A receiver of a webhook; `disabled_at` is empty if it is enabled.

    `url` is shown without its path, which may hold a secret; empty where only a variable has it.
    `problem` says why it misses events, for its column `events`; empty if the column is valid.
    """

    webhook: str
    receiver: str
    url: str
    disabled_at: str
    problem: str = ""


class StartedJob(msgspec.Struct, frozen=True):
    """The job that something has made."""

    job: str
