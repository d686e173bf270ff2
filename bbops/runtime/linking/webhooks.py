"""Linked webhooks: the routes that receive them, and those that a project sends."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from bbops.runtime.flow.run import Answer, Function
from bbops.runtime.http.in_flight import TIMEOUT_SECONDS, ActiveRequest
from bbops.runtime.http.request_decoding import read_body
from bbops.runtime.http.responses import Answering
from bbops.runtime.linking.functions import make_function, resolve
from bbops.runtime.linking.lasting import Lasting
from bbops.runtime.linking.pipeline import Pipeline, Policy
from bbops.runtime.values.failures import NOTHING, FlowError, Thrown, WrongKind
from bbops.runtime.values.shapes import compile_shape
from bbops.runtime.work.receivers import ConfiguredReceivers, Receiver, Receivers, TableReceivers
from bbops.runtime.work.sent_webhooks import OutgoingWebhook
from bbops.runtime.work.signatures import WebhookSignature
from bbops.runtime.work.webhooks import MAX_BODY_BYTES, DeliveryName, ReceivedWebhook

_TAKEN: Answer = 202, NOTHING, None, None


class WebhookPipeline(Pipeline):
    """The way of a delivery: its signature is over the raw body, so that is read and no more."""

    __slots__ = ("refused", "trigger", "url", "webhook")

    def __init__(
        self, webhook: Callable[[], ReceivedWebhook], policy: Policy, answering: Answering,
        base_url: str, refused: Counter[str],
    ) -> None:  # fmt: skip
        """Args: `refused` counts deliveries with a wrong or late signature, by trigger."""
        super().__init__(no_function(policy.endpoint), policy, answering)
        self.webhook, self.url = webhook, base_url.rstrip("/") + policy.path
        self.trigger, self.refused = policy.endpoint, refused

    async def run(
        self, scope: Any, receive: Any, params: dict[str, str], active: ActiveRequest
    ) -> Answer:  # fmt: skip
        """Take a delivery; as `Pipeline.run`."""
        del params
        _, body, _ = await read_body(scope, receive, MAX_BODY_BYTES)
        active.bytes_in, active.is_read = len(body), True
        query = scope["query_string"].decode("latin-1")
        url = f"{self.url}?{query}" if query else self.url
        try:
            found = await self.webhook().receive(self.answering.host, scope["headers"], body, url)
        except Thrown as thrown:
            if thrown.status == HTTPStatus.UNAUTHORIZED:
                self.refused[self.trigger] += 1
            raise
        return found.status, found.value, None, None


def link_webhooks(
    data: Mapping[str, Any],
    env: Mapping[str, Any],
    answering: Answering,
    lasting: Lasting,
    base_url: str,
) -> Iterator[tuple[str, WebhookPipeline]]:
    """Yield the path of each webhook, and what answers there.

    Args:
        base_url: where the project answers, as people know it: some services sign it.
    """
    for one in data["webhooks"]:
        policy = Policy(
            method="POST", path=one["path"], endpoint=f"triggers/{one['name']}",
            max_body_bytes=MAX_BODY_BYTES, uploads=None, is_once=False,
            timeout_seconds=TIMEOUT_SECONDS, active_requests=lasting.active_requests,
            limit=None, cors=None, authentication="None", channel="", middleware=(),
        )  # fmt: skip
        webhook, refused = _webhook(one, env), lasting.refused_deliveries
        yield one["path"], WebhookPipeline(webhook, policy, answering, base_url, refused)


def _webhook(one: Mapping[str, Any], env: Mapping[str, Any]) -> Callable[[], ReceivedWebhook]:
    """Return what gives a webhook; without its secrets it takes nothing, and says so."""
    secrets = [env.get(name) if name else text for name, text in one["secrets"]]
    given = [secret for secret in secrets if secret]
    signature = WebhookSignature(one["scheme"], given, one["header"], one["tolerance_seconds"])
    made = ReceivedWebhook(one["name"], signature, DeliveryName(**one["id"]) if one["id"] else None)

    def webhook() -> ReceivedWebhook:
        if not given:
            listed = ", ".join(name for name, _ in one["secrets"])
            raise FlowError(f"the secret of webhook '{one['path']}' has no value: set {listed}")
        return made

    return webhook


def no_function(name: str) -> Function:
    """Return the function of a route that runs none: its job does, later."""

    async def flow(_: Any) -> Answer:
        return _TAKEN

    return make_function(name, f"{name}.yaml", flow)


_WHOLE: Final = re.compile(r"-?[0-9]{1,19}").fullmatch


def link_sent_webhooks(
    sent: Sequence[Mapping[str, Any]], env: Mapping[str, str | None]
) -> Mapping[str, OutgoingWebhook]:
    """Return the sent webhooks of an artifact by their names."""
    return {webhook["name"]: _sent_webhook(webhook, env) for webhook in sent}


def _sent_webhook(data: Mapping[str, Any], env: Mapping[str, str | None]) -> OutgoingWebhook:
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
