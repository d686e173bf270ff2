"""endpoint: a route and the function that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model, need_one_of
from bbops.base.names import Duration, Size
from bbops.language.resources._access import History, RateLimit, RoleName
from bbops.language.resources._kind import ChannelName, FunctionName, Kind
from bbops.language.resources.function import Function, Status
from bbops.language.shape import Field as ShapeField
from bbops.language.shape import FieldName, Shape
from bbops.language.steps._base import Steps

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


OF_STEPS: Final = ("input", "query", "strictQuery", "params", "output")
"""Keys with the shapes of the steps beside them."""


class Endpoint(Kind):
    """A route, and the function, or the steps, that answer it.

    - The full path is the channel's `basePath` and then `path`. Segments written `:name` are
      parameters; a literal segment beats a parameter. Two endpoints never answer the same.
    - `steps` stand in place of `function` where nothing else runs them, with the `input`, `query`,
      `strictQuery`, `params` and `output` that a function would have. Nothing can `call` them: what
      several run is a function.
    - `authentication` is required without a channel, so that an open route is a decision. Inside
      one it may be left out, and is then the channel's, or set, which overrides it. `Optional`
      takes a user who has a token, and anybody who sends none: `vars.auth` is null then. A token
      that is not valid is 401. In a channel of API keys there is no user who could be there.
    - `roles` lists the roles of which a signed-in user needs one, else the answer is 403, before
      any middleware. They come from the `enum` of the column `role` of the users' table. The
      role in the token counts: another role counts with the next token. The list replaces the
      `roles` of the channel; `[]` accepts every signed-in user.
    - `middleware` runs after the channel's middleware, which an endpoint cannot remove.
    - `rateLimit` replaces the channel's limit, with a counter of its own: a number a minute, or
      `{ limit: 5, per: 1h, by: address }`. 0 is any number.
    - A request passes in this order: route, rate limit, authentication, middleware, shapes, steps.
    - Whether the function reads `vars.auth` is checked against this: where an endpoint of it is
      open, that is a mistake.
    - `maxBody`, `timeout` and `history` replace the settings of the channel.
    - A body is JSON, or a form (`application/x-www-form-urlencoded`, `multipart/form-data`) whose
      texts are typed by the shape like the texts of a query; another type is 415, another charset
      than UTF-8 too. `maxBody` bounds all of it, files included where it is given.
    - With `idempotency: true` a request may have the header `Idempotency-Key`: the same again, by
      the same user within 24 hours, runs nothing and has the first answer, with
      `idempotency-replayed`. Another request with that key is 422, one beside the first 409. The
      answer is kept as it is: this is not for secrets.
    - Of each request the server keeps a line, for 14 days; with `history: full` also query,
      headers, input and output, up to 8 KB each, without what is a secret by its name or its form;
      with `off` nothing. `bbops requests` shows it.
    - A file with `table` and `actions` in place of `method` is the usual routes of a table, see
      docs/language/crud.md.
    - What is declared under `files` stands in `input` as `{path, name, size, contentType}`, with
      `many` as a list of them; `name?` may be left out.
    """

    folder: ClassVar[str] = "endpoints"
    rank: ClassVar[int] = 30

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: RoutePath
    function: FunctionName | None = None
    authentication: Literal["None", "JWT", "Optional"] | None = None
    roles: list[RoleName] | None = None
    rate_limit: RateLimit | None = None
    middleware: list[FunctionName] = []
    description: str | None = None
    docs_visibility: Literal["visible", "hidden"] = "visible"
    channel: ChannelName | None = None
    timeout: Duration | None = None
    files: dict[FieldName, Upload] = {}
    max_body: Size | None = None
    idempotency: bool = False
    history: History | None = None
    input: Shape | None = None
    query: Shape | None = None
    strict_query: bool = False
    params: Shape | None = None
    output: dict[Status, ShapeField] = {}
    steps: Steps | None = None

    @model_validator(mode="before")
    @classmethod
    def check_code(cls, data: Any) -> Any:
        """Refuse a route with both a function and steps, and shapes without steps."""
        if isinstance(data, dict) and "function" in data:
            need_one_of(cls, data, "function", "steps")
            for key in OF_STEPS:
                if key in data:
                    message = "'{key}' cannot be combined with 'function'"
                    hint = f"declare it in functions/{data['function']}.yaml"
                    context = {"key": key, "first": "function", "hint": hint}
                    raise PydanticCustomError("one_of", message, context)
        return data

    @model_validator(mode="after")
    def need_code(self) -> Self:
        """Refuse a route without code."""
        if self.function is None and self.steps is None:
            need_one_of(type(self), {}, "function", "steps")
        return self

    @property
    def inline(self) -> Function | None:
        """The endpoint's steps and shapes as a function; None if it names a function."""
        if self.steps is None:
            return None
        return Function.model_construct(
            description=self.description, input=self.input, query=self.query,
            strict_query=self.strict_query, params=self.params, payload=None,
            output=self.output, job=None, steps=self.steps,
        )  # fmt: skip

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        inside = f" in channel {body['channel']}" if body.get("channel") else ""
        who = f", {body['authentication']}" if body.get("authentication") else ""
        runs = body.get("function") or f"{len(body.get('steps') or ())} steps"
        return f"{body.get('method')} {body.get('path')} → {runs}{inside}{who}"
