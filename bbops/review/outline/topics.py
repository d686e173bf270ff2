"""Topics of realtime messages."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.language.resources.realtime import Realtime
from bbops.review.outline.outline import TopicOutline
from bbops.review.outline.relations import Relations
from bbops.runtime.realtime.rows import DELETED, INSERTED, LEFT, UPDATED


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
