"""channel: the shared settings of a group of endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from bbops.base.model import Model
from bbops.base.names import Duration, Size
from bbops.language.resources._access import History, RateLimit, RoleName
from bbops.language.resources._kind import FunctionName, Kind
from bbops.language.resources.endpoint import RoutePath

HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,100}$")]
Origin = Annotated[str, StringConstraints(pattern=r"^(\*|[a-z][a-z0-9+.-]*://[^/\s]+)$")]


class Cors(Model):
    """Which origins may read answers, also those to unknown paths below the channel's base path.

    - Without `methods`, the methods of the path are allowed; without `headers`, the headers that a
      browser asks for.
    - Pages can read the standing headers, such as `etag`, `retry-after`, `content-range` and
      `content-disposition`; `expose` names others, such as those that a function sets.
    """

    origins: list[Origin] = ["*"]
    methods: list[Literal["GET", "POST", "PUT", "PATCH", "DELETE"]] = []
    headers: list[HeaderName] = []
    expose: list[HeaderName] = []
    credentials: bool = False
    max_age: Annotated[int, Field(ge=0, le=86_400)] = 600


class Channel(Kind):
    """The shared settings of a group of endpoints: the REST channel of the specification.

    - Each endpoint that names the channel has its base path, authentication, limit, origins and
      middleware.
    - `authentication: Optional` takes users and anybody without a token, and `roles` lists the
      roles of which a user needs one; endpoints may say others, see there. `timeout`, `maxBody`
      and `history` hold for endpoints that do not say their own.
    - `API Key` takes a key in the header `X-API-Key`, or as `api_key` in the query; the step
      `createApiKey` makes them, and `vars.apiKey` holds `id`, `name` and `claims`.
    - `rateLimit` counts requests a minute, or in `per`, for each client: the user of a valid
      token, the valid API key, else the address. Every answer has in `ratelimit` what is left, for
      how many seconds; beyond it the answer is 429 with `retry-after`. Counters survive
      publications.
    - Middleware runs in order, before the body is read: it declares no `input`. `params` and
      `query` it may declare: they are typed for it alone. What it puts into `vars` is there for
      what follows; its `return` with a value, or a `throw`, answers at once.
    - Without `cors` any origin may read the answers, without credentials. Routes outside channels
      answer no other origin. With `credentials: true` only listed origins get them.
    """

    folder: ClassVar[str] = "channels"
    rank: ClassVar[int] = 40
    nests: ClassVar[bool] = False

    name: str
    base_path: RoutePath
    authentication: Literal["None", "JWT", "API Key", "Optional"]
    roles: list[RoleName] | None = None
    rate_limit: RateLimit = RateLimit(limit=0)
    cors: Cors = Cors()
    middleware: list[FunctionName] = []
    timeout: Duration | None = None
    max_body: Size | None = None
    history: History | None = None

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        return f"{body.get('basePath', '')}, {body.get('authentication', '')}"
