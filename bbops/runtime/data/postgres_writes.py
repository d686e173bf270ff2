"""Inserts and updates whose columns are known only at run time, on PostgreSQL; see `writes`."""

from __future__ import annotations

from bbops.runtime.data import writes
from bbops.runtime.data.postgres_rows import DECODERS, ENCODERS


class Setter(writes.Setter):
    """Executor a map into the SET clause of an update."""

    __slots__ = ()
    encoders = ENCODERS


class Inserter(writes.Inserter):
    """Executor a map, or a list of maps, into inserts of one transaction."""

    __slots__ = ()
    encoders = ENCODERS
    decoders = DECODERS
