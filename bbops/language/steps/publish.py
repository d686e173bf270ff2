"""publish: send a message to all subscribers of a topic."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.diagnostics import suggest
from bbops.base.model import Model
from bbops.language.expressions.types import NULL, Type, map_of
from bbops.language.expressions.values import MapValue, ValueField
from bbops.language.steps._base import Checking, Example, Static, Step, mark_of
from bbops.language.steps._flow import Flow
from bbops.language.steps._mismatches import check_payload, refuse_unknown
from bbops.language.steps._surroundings import Topic


class PublishParameters(Model):
    """The file in realtime/, the values of its topic's parameters, and the message."""

    realtime: Static
    params: ValueField | None = None
    event: Static
    payload: ValueField | None = None


class Publish(Step):
    """Send at once, at most once; who subscribes later gets it only if the topic has a `history`.

    - The `payload` must fit the shape of the event in `realtime/`, `params` its topic.
    - A message has 64 KB at most.
    - In tests, `expect.events` names what was published, in order.
    """

    run_by: ClassVar[str] = "bbops.runtime.realtime.topics"
    title: ClassVar[str] = "Publish"
    writes: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Tell who looks at a board",
            "- publish:\n"
            "    realtime: board\n"
            "    params: { id: 7 }\n"
            "    event: note.added\n"
            "    payload: { title: new }",
        ),
    )

    publish: PublishParameters

    def check(self, at: Checking) -> Type:
        told = self.publish
        payload = at.public(told.payload, "this message") if told.payload else NULL
        params = at.public(told.params, "this topic") if told.params else map_of({})
        topic = at.topics.get(told.realtime)
        if topic is None:
            if ("realtime", told.realtime) not in at.broken:
                message = f"realtime '{told.realtime}' does not exist"
                hint = suggest(told.realtime, at.topics) or f"make realtime/{told.realtime}.yaml"
                at.report(mark_of(told.realtime), "unknown-realtime", message, hint)
            return NULL
        self.check_params(at, params, topic)
        wanted = topic.events.get(told.event)
        if wanted is None:
            message = f"realtime '{told.realtime}' has no event '{told.event}'"
            hint = suggest(told.event, topic.events) or "declare it under 'events' there"
            at.report(mark_of(told.event), "unknown-event", message, hint)
        else:
            place = self.place("payload") or self.place("event")
            check_payload(at, told.payload, payload, wanted, f"event '{told.event}'", place)
            refuse_unknown(at, told.payload, wanted, f"event '{told.event}'")
        return NULL

    def check_params(self, at: Checking, of: Type, topic: Topic) -> None:
        """Check that the topic's parameters, and no others, are given as texts or numbers."""
        value, place = self.publish.params, self.place("params")
        if of.fields is None:
            if of.kind not in {"map", "any"}:
                at.report(place, "type", f"'params' needs a map, got {of}")
            return
        for name in topic.parameters:
            if name not in of.fields and not of.fields.keys() <= set(topic.parameters):
                continue  # the misspelt name is reported below
            if name not in of.fields:
                message = f"realtime '{self.publish.realtime}' needs params '{name}'"
                at.report(place or mark_of(self.publish.realtime), "missing-argument", message)
            elif isinstance(value, MapValue):
                given = dict(value.items)[name]
                at.fit(given, of.fields[name], "text number", f"params '{name}'", place)
        for name in of.fields:
            if name not in topic.parameters:
                place = (value.keys_at or {}).get(name) if isinstance(value, MapValue) else place
                message = f"the topic of realtime '{self.publish.realtime}' has no ':{name}'"
                at.report(place, "unknown-field", message, suggest(name, topic.parameters))

    def code(self, flow: Flow) -> list[ast.stmt]:
        told = self.publish
        return flow.run(
            "await publish(host, realtime, params, event, payload)",
            publish="bbops.runtime.steps.work:publish",
            host=flow.root("host"),
            realtime=ast.Constant(str(told.realtime)),
            params=flow.value(told.params),
            event=ast.Constant(str(told.event)),
            payload=flow.value(told.payload),
        )
