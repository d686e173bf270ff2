"""test: cases of one function or endpoint, with rows, mocks and what is expected."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from bbops.expressions.values import BareField, ValueField
from bbops.model import Model
from bbops.names import ColumnName
from bbops.resources._one_of import need_one_of

Row = dict[ColumnName, ValueField]


class Event(Model):
    """What a trigger hands to its function as `event`."""

    name: str | None = None
    payload: ValueField | None = None


class Rows(Model):
    """What a trigger of the database hands to its function as `trigger`."""

    new_row: ValueField | None = None
    old_row: ValueField | None = None


class User(Model):
    """Who asks; a case without `auth` asks without a token."""

    user_id: ValueField
    email: ValueField | None = None
    role: ValueField | None = None
    claims: ValueField | None = None


class Expect(Model):
    """What a case must give; what is left out does not matter.

    Attributes:
        value: a part of the answer's value: maps may have more keys.
        check: expressions over `result`, `status` and `headers`, each of which must be true.
        rows: how many rows a table has in the end.
        events: names of what was emitted or published.
        calls: for a mocked step the parameters of each call, or parts of them.
    """

    status: Annotated[int, Field(ge=200, le=599)] | None = None
    value: ValueField | None = None
    check: list[BareField] = []
    rows: dict[ColumnName, Annotated[int, Field(ge=0)]] = {}
    events: list[str] | None = None
    calls: dict[str, list[ValueField]] = {}

    @field_validator("check", mode="before")
    @classmethod
    def read_one(cls, data: Any) -> Any:
        """Read a single expression as a list of one."""
        return data if isinstance(data, list) else [data]


class Case(Model):
    """One run, on a database of its own."""

    name: Annotated[str, Field(min_length=1)]
    auth: User | None = None
    params: dict[str, ValueField] = {}
    query: dict[str, ValueField] = {}
    headers: dict[str, ValueField] = {}
    input: ValueField | None = None
    event: Event | None = None
    trigger: Rows | None = None
    mocks: dict[str, ValueField] = {}
    expect: Expect


class Test(Model):
    """`data` is what the tables hold, `mocks` what steps and addresses give, for every case."""

    __test__: ClassVar[bool] = False  # no class of tests, whatever its name
    folder: ClassVar[str] = "tests"

    description: str | None = None
    function: str | None = None
    endpoint: str | None = None
    data: dict[ColumnName, list[Row]] = {}
    mocks: dict[str, ValueField] = {}
    cases: list[Case] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def check_keys(cls, data: Any) -> Any:
        """Refuse a test of nothing, or of two things."""
        return need_one_of(cls, data, "function", "endpoint")
