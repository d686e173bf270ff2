"""Sent webhooks, compiled, and the env variables that sign webhooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bbops.base.diagnostics import Place
from bbops.base.names import env_name
from bbops.language.project import Project
from bbops.language.resources.webhook import FixedReceiver, ReceiverTable
from bbops.language.shape import shape_spec
from bbops.language.sql.dialect import Dialect

Part = dict[str, Any]


def compile_sent_webhooks(project: Project, dialect: Dialect) -> list[Part]:
    """Return what the linker has to know of each of them. Checked without mistakes before."""
    return [
        {
            "name": name, "events": {
                event: shape_spec(shape) for event, shape in one.model.events.items()
            }, "receivers": _receivers(project, one.model.receivers, dialect),
        } for name, one in sorted(project.webhooks.items())
    ]  # fmt: skip


def _receivers(
    project: Project, receivers: ReceiverTable | Sequence[FixedReceiver], dialect: Dialect
) -> Part:
    if not isinstance(receivers, ReceiverTable):
        return {"every": [_fixed(one) for one in receivers]}
    table = project.stored_tables[receivers.table]
    key = table.key[0]
    types = {"key": table.columns[key].type, "time": "datetime"}
    if receivers.owner is not None:
        types["owner"] = table.columns[receivers.owner].type
    return {
        "table": table.name, "key": key, "owner": receivers.owner or "",
        "marks": {name: dialect.cursor_mark(of) for name, of in types.items()},
        "encode": {
            name: f"{dialect.rows}:{dialect.encoders[of].__name__}"
            for name, of in types.items() if name != "time"
        },
        "is_whole": types["key"] in {"integer", "bigint"},
        "events": f"{dialect.rows}:{dialect.decoders['json']}",
    }  # fmt: skip


def _fixed(one: FixedReceiver) -> Part:
    url_env = env_name(one.url)
    return {
        "id": one.id, "url": "" if url_env else one.url, "url_env": url_env,
        "secret_env": env_name(one.secret),
    }  # fmt: skip


# ---- Find the env variables whose values sign webhooks, or verify them


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
