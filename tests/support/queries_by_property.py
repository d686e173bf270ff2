"""Values and settings of queries that hypothesis makes."""

from __future__ import annotations

import base64
from datetime import UTC
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

ALL = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  string: { type: string, nullable: true }
  text: { type: text, nullable: true }
  integer: { type: integer, nullable: true }
  bigint: { type: bigint, nullable: true }
  number: { type: number, nullable: true }
  decimal: { type: decimal, nullable: true }
  boolean: { type: boolean, nullable: true }
  datetime: { type: datetime, nullable: true }
  date: { type: date, nullable: true }
  time: { type: time, nullable: true }
  uuid: { type: uuid, nullable: true }
  json: { type: json, nullable: true }
  binary: { type: binary, nullable: true }
"""


SLOW = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


MOMENTS = st.datetimes(timezones=st.just(UTC))


CHARACTERS = st.characters(exclude_categories=["Cs"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(CHARACTERS)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(CHARACTERS), inner),
    max_leaves=8,
)  # fmt: skip


INTEGERS = st.integers(-(2**63), 2**63 - 1)


VALUES: dict[str, st.SearchStrategy[tuple[Any, Any]]] = {
    "string": st.text(CHARACTERS).map(lambda x: (x, x)),
    "text": st.text(CHARACTERS, max_size=3000).map(lambda x: (x, x)),
    "integer": INTEGERS.map(lambda x: (x, x)),
    "bigint": INTEGERS.map(lambda x: (x, x)),
    "number": st.floats(allow_nan=False, allow_infinity=False).map(lambda x: (x, x)),
    "decimal": st.decimals(-(10**20), 10**20, places=6).map(lambda x: (str(x), format(x, "f"))),
    "boolean": st.booleans().map(lambda x: (x, x)),
    "datetime": MOMENTS.map(lambda x: (x.isoformat(), x.isoformat().replace("+00:00", "Z"))),
    "date": st.dates().map(lambda x: (x.isoformat(), x.isoformat())),
    "time": st.times().map(lambda x: (x.isoformat(), x.isoformat())),
    "uuid": st.uuids().map(lambda x: (str(x).upper(), str(x))),
    "json": JSON.map(lambda x: (x, x)),
    "binary": st.binary().map(lambda x: (base64.b64encode(x).decode(),) * 2),
}  # fmt: skip
