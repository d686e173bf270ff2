"""webhook: the events that the project sends to other services, and their receivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Discriminator, Field, StringConstraints, Tag

from bbops.base.model import Model
from bbops.base.names import ColumnName, EnvReference, EventName, env_name
from bbops.language.resources._kind import Kind, TableName
from bbops.language.shape import Shape

ReceiverUrl = Annotated[
    str,
    StringConstraints(
        pattern=r"^(?:\$\{ *env\.[A-Z][A-Z0-9_]{0,62} *\}|https://[^\s${}]+)$", max_length=2_000
    ),
]
"""An address with https, or exactly `${ env.NAME }`."""


class ReceiverTable(Model):
    """A table whose rows are receivers, and its column with the owner of each of them."""

    table: TableName
    owner: ColumnName | None = None


class FixedReceiver(Model):
    """One receiver: its address, and the secret that signs its messages."""

    url: ReceiverUrl
    secret: EnvReference

    @property
    def id(self) -> str:
        """The id of the receiver: its variable, else its address."""
        return env_name(self.url) or self.url


def _form(data: Any) -> str:
    return "list" if isinstance(data, list) else "table"


Receivers = Annotated[
    Annotated[ReceiverTable, Tag("table")]
    | Annotated[list[FixedReceiver], Field(min_length=1, max_length=100), Tag("list")],
    Discriminator(_form),
]


class Webhook(Kind):
    """Events for other services: the step `send` sends them, signed, in the background.

    - Messages are signed as [Standard Webhooks](https://www.standardwebhooks.com) says. The body is
      `{type, timestamp, data}`: the event, when it was sent, and the payload, which must fit the
      shape of the event.
    - `receivers` is a list of `url` and `secret`, or a table of the project whose rows are the
      receivers. It has the columns `url`, `secret` (private), `events` (json: a list of events, one
      event, or null for all) and `disabled_at` (datetime, nullable), and one primary key. With
      `owner`, a column of it, the step says whose receivers get the event. A receiver whose
      `events` is something else gets none: `bbops receivers list` and the log say so.
    - A secret is base64 of 24 bytes or more, `whsec_` before it or not, such as
      `whsec_${ randomToken(32) }`.
    - A message that is not answered with 2xx within 15 seconds is sent again after 5 seconds, 5
      minutes, 30 minutes, 2, 5, 10 and 10 hours, with the same `webhook-id`. Redirects are not
      followed, and the server's `egress` rules apply.
    - A receiver that answers 410, or takes nothing for 5 days, is disabled: `disabled_at` is set,
      and the event `bbops.receiver-disabled` says `webhook`, `receiver` and `reason` (`gone` or
      `failing`).
    """

    folder: ClassVar[str] = "webhooks"
    run_by: ClassVar[str] = "bbops.runtime.work.sent_webhooks"
    rank: ClassVar[int] = 65
    nests: ClassVar[bool] = False

    description: str | None = None
    receivers: Receivers
    events: Annotated[dict[EventName, Shape], Field(min_length=1, max_length=100)]

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        return ", ".join(body.get("events") or ())
