"""Endpoints of a table: list, get, create, update and delete, in one file of `endpoints/`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import (  # fmt: skip
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    StringConstraints,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from bbops.base.model import NULL_IS_A_VALUE, Model, RunBy
from bbops.base.names import ColumnName, Duration, Size
from bbops.language.expressions.values import BareField, ValueField
from bbops.language.resources._access import History, RateLimit, RoleName
from bbops.language.resources._kind import ChannelName, FunctionName, Kind, TableName
from bbops.language.resources.endpoint import RoutePath
from bbops.language.shape import Shape
from bbops.language.steps._shape import Columns, Selected, read_select

ACTIONS: Final = ("list", "get", "create", "update", "delete")
MOST_FILTERS: Final = 20
MOST_VALUES: Final = 100
"""The most values of `in`."""
MOST_ROWS: Final = 1000
RESERVED: Final = ("sort", "limit", "cursor", "total", "search")
"""Query names of `list` that no filter may have."""

_PATH: Final = r"[a-z][a-z0-9_]{0,62}(?:\.[a-z][a-z0-9_]{0,62})?"
FilterName = Annotated[str, StringConstraints(pattern=rf"^(?:{_PATH})$")]
Operator = Annotated[
    Literal["eq", "ne", "in", "null", "gt", "gte", "lt", "lte", "contains", "startsWith"],
    BeforeValidator(lambda given: "null" if given is None else given),
]
SortName = Annotated[str, StringConstraints(pattern=rf"^(?:(?:{_PATH})(?:\.asc|\.desc)?)$")]
Operators = Annotated[list[Operator], Field(min_length=1), NULL_IS_A_VALUE]


def _form(given: object) -> str:
    return _MAP if isinstance(given, dict) else _LIST


_MAP, _LIST = "<map>", "<list>"


def _unmixed(given: object) -> object:
    """Refuse a list in which some entries name their operators."""
    if isinstance(given, list) and any(isinstance(entry, dict) for entry in given):
        message, hint = "a list has names alone", "write all of them as one map of operators"
        raise PydanticCustomError("bad_value", message, {"hint": hint})
    return given


Filter = Annotated[
    Annotated[list[FilterName], Tag(_LIST)] | Annotated[dict[FilterName, Operators], Tag(_MAP)],
    Discriminator(_form), BeforeValidator(_unmixed),
]  # fmt: skip
Input = Annotated[
    Annotated[list[ColumnName], Tag(_LIST)] | Annotated[Shape, Tag(_MAP)], Discriminator(_form)
]
SelectField = Annotated[Columns | Selected, PlainValidator(read_select)]


class Shared(Model):
    """The keys that an action has, and the file for all of its actions."""

    description: str | None = None
    channel: ChannelName | None = None
    authentication: Literal["None", "JWT", "Optional"] | None = None
    roles: list[RoleName] | None = None
    middleware: list[FunctionName] | None = None
    rate_limit: RateLimit | None = None
    timeout: Duration | None = None
    max_body: Size | None = None
    history: History | None = None
    docs_visibility: Literal["visible", "hidden"] | None = None


SHARED: Final = tuple(field.alias or name for name, field in Shared.model_fields.items())
OF_FUNCTION: Final = frozenset({*SHARED, "idempotency", "function"})
"""The keys that an action may have beside `function`."""


class Action(Shared):
    """One action; `function` runs a function of your own on the same route."""

    function: FunctionName | None = None

    @model_validator(mode="before")
    @classmethod
    def check_function(cls, data: Any) -> Any:
        """Refuse keys that only generated steps use."""
        if isinstance(data, dict) and "function" in data:
            for key in data:
                if key not in OF_FUNCTION and key in _keys(cls):
                    _refuse(key, "function", "write it into the function, or remove 'function'")
        return data


class List(Action):
    """GET on the path: `{rows, next}`, filtered and sorted by the query.

    - `filter: [done, created_at]` takes `?done=true` and `?created_at[gte]=2026-01-01`: `eq` (no
      brackets), `ne`, `in` (the name repeated), `null` (of nullable columns), and `gt`, `gte`,
      `lt`, `lte` of numbers and times. `contains` and `startsWith` must be listed, as
      `filter: { title: [contains] }` does; then only what is listed is there. A column that a
      relation leads to is written `author.role`, and asked for as `author_role`.
    - `sort` lists orders; a request may use both directions of each, the first is the default.
    - `limit` rows are on a page where the request does not say it, and never more than `maxLimit`.
      `next` is the `cursor` of the next page. With `total: true` a request may ask `?total=true`.
    """

    filter: Filter = []
    sort: list[SortName] = []
    search: Annotated[bool, RunBy("bbops.language.sql.search")] = False
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 20
    max_limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100
    total: bool = False
    select: SelectField | None = None

    @model_validator(mode="after")
    def check_list(self) -> Self:
        """Refuse a page size above the maximum, and too many filters."""
        if self.limit > self.max_limit:
            message = "'limit' is {limit}, more than 'maxLimit', which is {most}"
            context = {"limit": self.limit, "most": self.max_limit}
            raise PydanticCustomError("bad_value", message, context)
        if len(self.filter) > MOST_FILTERS:
            message = "'filter' has {count} columns, at most {most}"
            context = {"count": len(self.filter), "most": MOST_FILTERS}
            raise PydanticCustomError("bad_value", message, context)
        return self

    @property
    def filters(self) -> Mapping[str, list[Operator] | None]:
        """The operators of each filter; None for the default operators of its type."""
        return self.filter if isinstance(self.filter, dict) else dict.fromkeys(self.filter)


class Get(Action):
    """GET on the path and the key: the row, or 404."""

    select: SelectField | None = None


class Create(Action):
    """POST on the path: 201 with the row.

    - `input` lists columns: each is a field with the type, `enum` and bounds of its column, and may
      be left out where the column has a default or takes null. Or it is a shape.
    - `set` gives values that do not come from the request as they are, as in `data` of `insert`.
    """

    input: Input = []
    set: dict[ColumnName, ValueField] = {}
    idempotency: bool = False


class Update(Action):
    """PATCH on the path and the key: the row as it is now.

    - `input` lists columns, of which a request sends those that change. Or it is a shape.
    - `set` gives values beside them, as in `data` of `update`.
    """

    input: Input = []
    set: dict[ColumnName, ValueField] = {}
    idempotency: bool = False


class Delete(Action):
    """DELETE on the path and the key: 204, or 404."""

    idempotency: bool = False


class Actions(Model):
    """Only the listed actions exist."""

    list_: List | None = Field(default=None, alias="list")
    get: Get | None = None
    create: Create | None = None
    update: Update | None = None
    delete: Delete | None = None

    @model_validator(mode="after")
    def need_action(self) -> Self:
        """Refuse a file without routes."""
        if not any(self.every):
            hint = f"name some of {', '.join(ACTIONS)}"
            raise PydanticCustomError("bad_value", "'actions' names no action", {"hint": hint})
        return self

    @property
    def every(self) -> Iterator[tuple[str, Action]]:
        """Each given action by its name."""
        for name in ACTIONS:
            found: Action | None = self.list_ if name == "list" else getattr(self, name)
            if found is not None:
                yield name, found


_NOT_HERE: Final = ("method", "function", "steps", "input", "query", "params", "output", "files")


class Crud(Shared, Kind):
    """Endpoints of a table: each action becomes an endpoint and a function.

    - `endpoints/notes.yaml` makes `notes/list`, `notes/get`, `notes/create`, `notes/update` and
      `notes/delete`, as files of these names would; only what `actions` names exists. They are
      ordinary endpoints and functions: with rules of tables, roles, middleware and tests.
    - `match` gives columns with what they must equal in every row that is read or changed, and
      have in each that is created: `{ team_id: vars.member.team_id }`. No request can set them.
      `owner: user_id` is short for `match: { user_id: vars.auth.userId }`.
    - `select` says what every answer has, as in `find`; `list` and `get` may say their own. Without
      it that is all columns but private ones.
    - Keys of endpoints hold for all actions; an action may set them again.
    - `bbops expand` writes the functions that are made of it, or one of them, to change by hand.
    """

    folder: ClassVar[str] = "endpoints"
    rank: ClassVar[int] = 30

    table: TableName
    path: RoutePath
    owner: ColumnName | None = None
    match: dict[ColumnName, BareField] = {}
    select: SelectField | None = None
    actions: Actions

    @classmethod
    def id(cls) -> str:
        return "endpoint"

    @model_validator(mode="before")
    @classmethod
    def check_keys(cls, data: Any) -> Any:
        """Refuse keys that belong to a single route, and an owner that `match` repeats."""
        if isinstance(data, dict):
            for key in _NOT_HERE:
                if key in data:
                    _refuse(key, "table", "its routes stand under 'actions'")
            if "owner" in data and "match" in data:
                hint = f"write it as 'match: {{ {data['owner']}: vars.auth.userId, … }}'"
                _refuse("owner", "match", hint)
        return data

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        inside = f" in channel {body['channel']}" if body.get("channel") else ""
        actions = ", ".join(map(str, body.get("actions") or ()))
        return f"{body.get('path')} → {actions} of table {body.get('table')}{inside}"


def is_crud(root: object) -> bool:
    """Return whether a file of `endpoints/` is about a table."""
    return isinstance(root, dict) and ("table" in root or "actions" in root)


def _refuse(key: str, first: str, hint: str) -> None:
    message = "'{key}' cannot be combined with '{first}'"
    raise PydanticCustomError("one_of", message, {"key": key, "first": first, "hint": hint})


def _keys(model: type[Model]) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in model.model_fields.items())
