"""The outlines of tables and topics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from bbops.language.project import Resource
from bbops.language.resources.realtime import Realtime
from bbops.language.resources.table import Column, Table
from bbops.review.outline.outline import (
    ColumnOutline,
    IndexOutline,
    RuleOutline,
    TableOutline,
    TopicOutline,
)
from bbops.review.outline.relations import Relations
from bbops.review.outline.resources import first_line, line_of, text_at
from bbops.review.outline.work import trigger_table
from bbops.runtime.realtime.rows import DELETED, INSERTED, LEFT, UPDATED

_RULES: Final = (
    ("access", "read"), ("access", "write"), ("access", "insert"), ("access", "update"),
    ("access", "delete"), ("scope",), ("softDelete",),
)  # fmt: skip


def outline_tables(relations: Relations) -> Iterator[TableOutline]:
    """Yield the tables of a project by name."""
    for _, table in sorted(relations.project.tables.items()):
        yield _outline(relations, table)


def _outline(relations: Relations, table: Resource[Table]) -> TableOutline:
    project, name, model = relations.project, table.name, table.model
    topics = (key for key, topic in project.realtime.items() if topic_table(topic.model) == name)
    triggers = (
        key for key, trigger in project.triggers.items() if trigger_table(trigger.model) == name
    )
    return TableOutline(
        name=name,
        file=table.file,
        line=first_line(table, "columns"),
        description=(model.description or "").strip(),
        columns=tuple(_columns(table)),
        indexes=tuple(_indexes(table)),
        rules=tuple(_rules(table)),
        seed_rows=len(model.seed),
        readers=relations.readers.get(name, ()),
        writers=relations.writers.get(name, ()),
        endpoints=relations.endpoints_of_tables.get(name, ()),
        topics=tuple(sorted(topics)),
        triggers=tuple(sorted(triggers)),
        referring=relations.referring.get(name, ()),
    )


def _columns(table: Resource[Table]) -> Iterator[ColumnOutline]:
    model = table.model
    every = {**model.columns, **model.computed}
    for name in table.document.root["columns"]:
        column = every[name]
        yield ColumnOutline(
            name=str(name),
            line=line_of(table, "columns", name),
            type=column.type,
            is_primary=name in model.key,
            is_nullable=column.nullable,
            is_unique=column.unique,
            is_private=column.private,
            computed=text_at(table, "columns", name, "computed"),
            default=_default(column),
            references=column.references or "",
            enum=tuple(map(str, column.enum or ())),
            description=(column.description or "").strip(),
        )


def _default(column: Column) -> str:
    if column.auto is not None:
        return column.auto
    if column.default is None:
        return ""
    return json.dumps(column.default, ensure_ascii=False)


def _indexes(table: Resource[Table]) -> Iterator[IndexOutline]:
    for name, index in table.model.indexes.items():
        where = text_at(table, "indexes", name, "where")
        line = line_of(table, "indexes", name)
        yield IndexOutline(name, line, tuple(index.columns), index.unique, where)


def _rules(table: Resource[Table]) -> Iterator[RuleOutline]:
    for path in _RULES:
        if text := text_at(table, *path):
            yield RuleOutline(" ".join(path), line_of(table, *path), text)
    for name in table.model.checks:
        text = text_at(table, "checks", name)
        yield RuleOutline(f"check {name}", line_of(table, "checks", name), text)


# ---- Topics of realtime messages


def outline_topics(relations: Relations) -> Iterator[TopicOutline]:
    """Yield the topics of a project by name."""
    for name, topic in sorted(relations.project.realtime.items()):
        model = topic.model
        yield TopicOutline(
            name=name,
            file=topic.file,
            line=1,
            description=(model.description or "").strip(),
            pattern=model.topic,
            authentication=model.authentication,
            middleware=tuple(model.middleware),
            events=(INSERTED, UPDATED, LEFT, DELETED) if model.rows else tuple(model.events),
            table=topic_table(model),
            history=f"{model.history.size} for {model.history.for_}" if model.history else "",
            has_presence=model.presence is not None,
            functions=relations.publishers.get(name, ()),
        )


def topic_table(topic: Realtime) -> str:
    """Return the table of a topic of rows; empty for another one."""
    return str(topic.rows.table) if topic.rows else ""
