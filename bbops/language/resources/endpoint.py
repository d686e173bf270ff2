"""endpoint: a route and the function that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from bbops.base.model import Model
from bbops.base.names import Duration, Size
from bbops.language.resources._kind import ChannelName, FunctionName, Kind
from bbops.language.shape import FieldName

RoutePath = Annotated[
    str,
    StringConstraints(
        pattern=r"^/(?:(?::[a-z][A-Za-z0-9_]*|[A-Za-z0-9_.~-]+)"
        r"(?:/(?::[a-z][A-Za-z0-9_]*|[A-Za-z0-9_.~-]+))*)?$",
        max_length=500,
    ),
]


MediaType = Annotated[str, StringConstraints(pattern=r"^[a-z]+/(\*|[a-z0-9][a-z0-9.+-]{0,100})$")]


class Upload(Model):
    """A file of the request; `many` takes any number of them under one name.

    The value in `input` is `{path, name, size, contentType}`, with `many` a list of such.
    """

    max_size: Size = "5MB"
    types: list[MediaType] = Field(default=[], description="all types where it is left out")
    many: bool = False


class Endpoint(Kind):
    """A route, and the function that answers it.

    - The full path is the channel's `basePath` and then `path`. Segments written `:name` are
      parameters; a literal segment beats a parameter. Two endpoints never answer the same.
    - `authentication` is required without a channel, so that an open route is a decision. Inside
      one it may be left out, and is then the channel's, or set, which overrides it.
    - A request passes in this order: route, rate limit, authentication, middleware, shapes, steps.
    - Whether the function reads `vars.auth` is checked against this: where an endpoint of it is
      open, that is a mistake.
    - A body is JSON, or a form (`application/x-www-form-urlencoded`, `multipart/form-data`) whose
      texts are typed by the shape as those of a query are; another type is 415, another charset
      than UTF-8 too. `maxBody` bounds all of it, files included where it is given.
    - With `idempotency: true` a request may have the header `Idempotency-Key`: the same again, by
      the same user within 24 hours, runs nothing and has the first answer, with
      `idempotency-replayed`. Another request with that key is 422, one beside the first 409. The
      answer is kept as it is: this is not for secrets.
    - Of each request the server keeps a line, for 14 days; with `history: full` also query,
      headers, input and output, up to 8 KB each, without what is a secret by its name or its form;
      with `off` nothing. `bbops requests` shows it.
    - What is declared under `files` stands in `input` as `{path, name, size, contentType}`, with
      `many` as a list of them; `name?` may be left out.
    """

    folder: ClassVar[str] = "endpoints"
    rank: ClassVar[int] = 30

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: RoutePath
    function: FunctionName
    authentication: Literal["None", "JWT"] | None = None
    description: str | None = None
    docs_visibility: Literal["visible", "hidden"] = "visible"
    channel: ChannelName | None = None
    timeout: Duration | None = None
    files: dict[FieldName, Upload] = {}
    max_body: Size | None = None
    idempotency: bool = False
    history: Literal["full", "meta", "off"] | None = None

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return what a list says of a resource beside its description."""
        inside = f" in channel {body['channel']}" if body.get("channel") else ""
        who = f", {body['authentication']}" if body.get("authentication") else ""
        return f"{body.get('method')} {body.get('path')} → {body.get('function')}{inside}{who}"
