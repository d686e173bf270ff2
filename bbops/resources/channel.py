"""channel: what a group of endpoints shares."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from bbops.model import Model
from bbops.resources.endpoint import RoutePath

HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,100}$")]
Origin = Annotated[str, StringConstraints(pattern=r"^(\*|[a-z][a-z0-9+.-]*://[^/\s]+)$")]


class Cors(Model):
    """Which origins may read answers; `methods` and `headers` left out mean all that are asked."""

    origins: list[Origin] = ["*"]
    methods: list[Literal["GET", "POST", "PUT", "PATCH", "DELETE"]] = []
    headers: list[HeaderName] = []
    credentials: bool = False
    max_age: Annotated[int, Field(ge=0, le=86_400)] = 600


class Channel(Model):
    """Full route = `basePath` + the endpoint's path; middleware runs in order before it.

    `rateLimit` is requests a minute for each client: the user with JWT, else the address.
    """

    folder: ClassVar[str] = "channels"

    name: str
    base_path: RoutePath
    authentication: Literal["None", "JWT", "API Key"]
    rate_limit: Annotated[int, Field(ge=0)] = 0
    cors: Cors = Cors()
    middleware: list[str] = []
