"""Link the webhooks that a project sends, with the secrets of receivers that it lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from bbops.runtime.linking.resolving import resolve
from bbops.runtime.values.failures import FlowError, WrongKind
from bbops.runtime.values.shapes import compile_shape
from bbops.runtime.work.receivers import ConfiguredReceivers, Receiver, Receivers, TableReceivers
from bbops.runtime.work.sent_webhooks import OutgoingWebhook

_WHOLE: Final = re.compile(r"-?[0-9]{1,19}").fullmatch


def link_sent_webhooks(
    data: Mapping[str, Any], env: Mapping[str, str | None]
) -> Mapping[str, OutgoingWebhook]:
    """Return the webhooks of an artifact by their names."""
    every = data["work"]["sent"] if data["work"] else ()
    return {one["name"]: _webhook(one, env) for one in every}


def _webhook(data: Mapping[str, Any], env: Mapping[str, str | None]) -> OutgoingWebhook:
    events = {event: compile_shape(shape) for event, shape in data["events"].items()}
    given = data["receivers"]
    found = _table(given) if "table" in given else _fixed(data["name"], given, env)
    return OutgoingWebhook(data["name"], found, events)


def _table(data: Mapping[str, Any]) -> Receivers:
    encode = {name: resolve(target) for name, target in data["encode"].items()}
    key, owner = f"{data['table']}.{data['key']}", f"{data['table']}.{data['owner']}"

    def read_key(text: str) -> Any:
        if data["is_whole"] and not _WHOLE(text):
            raise WrongKind(f"there is no receiver '{text[:40]}': their keys are whole numbers")
        return encode["key"](int(text) if data["is_whole"] else text, key)

    def read_owner(value: Any) -> Any:
        if value is None:
            raise WrongKind("'owner' is null, so there is no receiver")
        return encode["owner"](value, owner)

    return TableReceivers(
        data["table"], data["key"], data["owner"], data["marks"], read_key, read_owner,
        resolve(data["events"]),
    )  # fmt: skip


def _fixed(
    webhook: str, data: Mapping[str, Any], env: Mapping[str, str | None]
) -> Receivers:  # fmt: skip
    return ConfiguredReceivers(webhook, {one["id"]: _receiver(one, env) for one in data["every"]})


def _receiver(data: Mapping[str, Any], env: Mapping[str, str | None]) -> Callable[[], Receiver]:
    """Return what gives a receiver; without a value for a variable that it needs it says so."""
    names = [data["url_env"], data["secret_env"]] if data["url_env"] else [data["secret_env"]]

    def receiver() -> Receiver:
        lacking = [name for name in names if not env.get(name)]
        if lacking:
            raise FlowError(f"receiver '{data['id']}' cannot be asked: set {', '.join(lacking)}")
        url = data["url"] or env.get(data["url_env"]) or ""
        return Receiver(data["id"], url, env.get(data["secret_env"]) or "")

    return receiver
