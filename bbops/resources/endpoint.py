"""endpoint: a route and the function that answers it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from bbops.model import Model
from bbops.names import Duration

RoutePath = Annotated[
    str,
    StringConstraints(
        pattern=r"^/(?:(?::[a-z][A-Za-z0-9_]*|[A-Za-z0-9_.~-]+)"
        r"(?:/(?::[a-z][A-Za-z0-9_]*|[A-Za-z0-9_.~-]+))*)?$",
        max_length=500,
    ),
]


class Endpoint(Model):
    """`authentication` may be left out inside a channel, and is then the channel's."""

    folder: ClassVar[str] = "endpoints"

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: RoutePath
    function: str
    authentication: Literal["None", "JWT"] | None = None
    description: str | None = None
    docs_visibility: Literal["visible", "hidden"] = "visible"
    channel: str | None = None
    timeout: Duration | None = None
