"""Find the env variables whose values sign webhooks, or verify them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bbops.base.diagnostics import Place
from bbops.base.names import env_name
from bbops.language.project import Project
from bbops.language.resources.webhook import ReceiverTable


class SigningSecret(NamedTuple):
    """A variable, the scheme that uses its value (`sent` for messages sent), and where.

    The variable is empty for a public key in the file itself.
    """

    variable: str
    scheme: str
    place: Place


def find_signing_secrets(project: Project) -> Iterator[SigningSecret]:
    """Yield the variables of each webhook, received and sent."""
    for trigger in project.triggers.values():
        webhook = trigger.model.webhook
        if webhook is None or not trigger.model.enabled:
            continue
        signature = webhook.signature
        key = "secret" if signature.secret else "publicKey"
        for given in signature.secret or signature.public_key:
            place = trigger.place("webhook", "signature", key)
            yield SigningSecret(env_name(given) or "", signature.scheme, place)
    for sent in project.webhooks.values():
        receivers = sent.model.receivers
        if not isinstance(receivers, ReceiverTable):
            for number, receiver in enumerate(receivers):
                place = sent.place("receivers", number, "secret")
                yield SigningSecret(env_name(receiver.secret), "sent", place)
