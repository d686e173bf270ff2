"""Link the topics of an artifact: beside the release that was linked from it."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from typing import Any

from bbops.runtime.linking.functions import link_condition
from bbops.runtime.linking.release import Release
from bbops.runtime.linking.resolving import resolve
from bbops.runtime.realtime.rows import RowsRule
from bbops.runtime.realtime.topics import Kept, Topic, Topics
from bbops.runtime.values.shapes import compile_shape
from bbops.runtime.work.rows import ReadRows


def link_topics(artifact: bytes, release: Release) -> Topics:
    """Return the topics of an artifact. About 0.1 ms each."""
    data = marshal.loads(artifact)["topics"]  # noqa: S302 - our own file
    return Topics(_topic(one, release) for one in data)


def _topic(data: Mapping[str, Any], release: Release) -> Topic:
    say = release.answering.wording.say
    return Topic(
        name=data["name"],
        pattern=tuple(data["topic"].split("/")),
        needs_user=data["authentication"] == "JWT",
        middleware=tuple(release.functions[name] for name in data["middleware"]),
        subscribe=link_condition(data["subscribe"]),
        publish=link_condition(data["publish"]),
        show=None if data["show"] is None else link_condition(data["show"]),
        events={event: compile_shape(spec, say) for event, spec in data["events"].items()},
        history=Kept(*data["history"]) if data["history"] else None,
        recheck_seconds=data["recheck_seconds"],
        rows=_rows(data["rows"]) if data["rows"] else None,
        heard=frozenset(data["heard"]),
    )


def _rows(data: Mapping[str, Any]) -> RowsRule:
    columns = {name: resolve(how) if how else None for name, how in data["columns"].items()}
    return RowsRule(
        data["table"], ReadRows(columns), tuple(data["primary"]), tuple(data["select"]),
        link_condition(data["where"]) if data["where"] else None, tuple(data["key_columns"]),
        link_condition(data["key"]) if data["key"] else None,
    )  # fmt: skip
