"""Who speaks of a name: the files in which something would be amiss without it.

Found by the words of the files and the models alone, as a careful reader with a search would.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from bbops.language.expressions.nodes import Member, Node
from bbops.source.yaml.document import Map, Seq
from tests.mistakes.sample import Sample
from tests.mistakes.spots import Spot
from tests.mistakes.words import Word, reads, spelt

Speakers = tuple[str, ...]
"""The files that speak of a name, or need what was there; empty when nobody does."""

REFERENCES = frozenset({
    ("Endpoint", "function"), ("Endpoint", "channel"), ("Channel", "middleware"),
    ("Realtime", "middleware"), ("Task", "function"), ("Task", "timezone"),
    ("Trigger", "function"), ("Agent", "tools"), ("AgentModel", "addon"), ("Auth", "users"),
    ("DatabaseTrigger", "table"), ("Aggregate", "groupBy"), ("Test", "function"),
    ("Test", "endpoint"), ("Session", "login"), ("Session", "signup"), ("Session", "refresh"),
    ("Session", "logout"), ("RunsOn", "realtime"), ("Field", "type"), ("Index", "columns"),
    ("Table", "primaryKey"), ("Column", "references"), ("Session", "tokenField"),
    ("Session", "refreshField"), ("FindParameters", "orderBy"),
})  # fmt: skip
"""Fields that hold a name of something else."""

JSON = ("vars.apiKey.claims", "vars.auth.claims", "vars.event.data")
"""Paths in the samples under which stands JSON: claims, and what a payment provider sends."""

RECEIVER = frozenset({"url", "secret", "events", "disabled_at"})
"""Columns that a table of receivers has, by docs/webhooks.md."""

SHAPES = ("input", "query", "params", "payload")
ROWS = {("InsertParameters", "data"), ("UpdateParameters", "data"), ("OnConflict", "do")}
ARGUMENTS = {("CallParameters", part) for part in ("input", "params", "query")}
MESSAGES = {("PublishParameters", "params"), ("PublishParameters", "payload")}


class Names:
    """Answers for one sample."""

    def __init__(self, sample: Sample) -> None:
        self.sample, self.project = sample, sample.project

    # ---- names
    def speakers(self, spot: Spot) -> Speakers:
        """Return the files that speak of the name that a key is."""
        where = (spot.owner.__name__, spot.field)
        if spot.key_role == "keyword":
            return (spot.file,)
        own, name = self.sample.files[spot.file], str(spot.path[-1])
        depth = len(spot.path) - spot.depth
        match where:
            case ("Table", "columns"):
                return self.of_column(spot.file, name)
            case ("Project", "env"):
                return self.reading(f"env.{name}", self.sample.files)
            case ("Function", part) | ("Field", part) if part in {*SHAPES, "fields"}:
                return self.of_field(spot, name.rstrip("?"))
            case ("Endpoint", "files"):
                function = self.project.endpoints[name_of(spot.file)].model.function
                return self.reading(f"input.{name.rstrip('?')}", [f"functions/{function}.yaml"])
            case ("Realtime", "events"):
                return self.of_event(spot, name.rstrip("?"), depth)
            case ("Set", "set") if depth == 1:
                return self.of_variable(spot, name)
            case ("Aggregate", "values") | ("Parallel", "parallel"):
                return self.if_read_of(name, spot)
            case ("Table", "seed") | ("Test", "data") | ("Case", "params") | ("Expect", "rows"):
                return (spot.file,)
            case ("Case" | "Test", "mocks"):
                return (spot.file,) if depth == 1 else ()
            case ("Expect", "calls"):
                return (spot.file,) if depth in {1, 3} else ()
            case _ if where in ROWS:
                return (spot.file,) if depth == 1 or _is_listed(spot) else ()
            case _ if where in ARGUMENTS | MESSAGES:
                return (spot.file,) if depth == 1 else ()
            case ("EmitParameters", "payload") if depth == 1 and self.heard(spot):
                return (spot.file,)
            case ("FindParameters", "select") if isinstance(spot.value, Seq):
                return (spot.file,)  # the relation whose rows are selected
            case ("FindParameters", "select") | ("LoopParameters", "collect"):
                return self.if_read_of(name, spot)
            case ("ReturnParameters", "value") if depth == 1:
                return self.of_result(spot.file, name, own)
            case _:
                return ()

    def root(self, spot: Spot) -> Map:
        """Return all of a spot's file."""
        root = self.sample.documents[spot.file].root
        assert isinstance(root, Map)
        return root

    def reading(self, path: str, files: Iterable[str]) -> Speakers:
        """Return the files that read a path."""
        return tuple(file for file in files if reads(self.sample.files[file], path))

    def of_column(self, file: str, name: str) -> Speakers:
        """A column is spoken of where its table is, and where others refer to it."""
        table, word = name_of(file), re.compile(rf"(?<![\w-]){name}(?!\w)")
        relation = re.compile(rf"\b{name.removesuffix('_id')}\.") if name.endswith("_id") else word
        of_table = re.compile(rf"\b(table: |{table}\.){table}\b|^  {table}:", re.MULTILINE)
        found = [
            other for other, text in self.sample.files.items()
            if other != file and of_table.search(text)
            and (self.of_receiver(other, name) if other.startswith("webhooks/")
                 else word.search(text) or relation.search(text))
        ]  # fmt: skip
        found += self.reading(f"{table}.{name}", self.sample.files)
        if len(re.findall(rf"(?<![\w.-]){name}(?!\w)", self.sample.files[file])) > 1:
            found.append(file)
        return tuple(found)

    def of_receiver(self, webhook: str, name: str) -> bool:
        """Return whether a webhook reads a column of its receivers: its own words say payloads."""
        receivers = self.project.webhooks[name_of(webhook)].model.receivers
        return name in RECEIVER or name == getattr(receivers, "owner", None)

    def of_field(self, spot: Spot, name: str) -> Speakers:
        own = self.sample.files[spot.file]
        roots = [f"{part}.{name}" for part in ("input", "query", "params", "event.payload")]
        is_read = any(reads(own, root) for root in roots)
        inner = len(spot.path) > 2 and re.search(rf"\.{name}\b", own) is not None
        listed = re.search(rf"(has|pick|omit)\([^)]*'{name}'", own) is not None
        return (spot.file, *self.callers(spot.file)) if is_read or inner or listed else ()

    def callers(self, file: str) -> Speakers:
        """Return the files that call a function."""
        name = re.escape(name_of(file))
        found = re.compile(rf"function: {name}\b(?!/)")
        return tuple(other for other, text in self.sample.files.items() if found.search(text))

    def of_event(self, spot: Spot, name: str, depth: int) -> Speakers:
        topic = name_of(spot.file)
        event = name if depth == 1 else str(spot.path[-2])
        speak = re.compile(rf"realtime: {topic}\b[^-]*?event: {re.escape(event)}\b", re.DOTALL)
        found = [file for file, text in self.sample.files.items() if speak.search(text)]
        return tuple(file for file in found if name in self.sample.files[file])

    def of_variable(self, spot: Spot, name: str) -> Speakers:
        """A variable is read in its function, and behind it where that is middleware."""
        if name_of(spot.file) in self.project.middleware:
            return self.reading(f"vars.{name}", self.sample.files)
        return self.reading(f"vars.{name}", [spot.file])

    def if_read_of(self, name: str, spot: Spot) -> Speakers:
        """Return the file itself if it reads a member of this name."""
        own = self.sample.files[spot.file]
        found = self.variable_of(spot)
        each = re.findall(rf"over: vars\.{found}\b.*\n +each: (\w+)", own)
        roots = "|".join([found, *each])
        member = rf"vars\.({roots})(\??\.\w+|\[\w+\])*?\??\.{name}\b"
        read = re.search(rf"{member}|orderBy: \[?{name}\b|'{name}'", own)
        return (spot.file,) if read else ()

    def variable_of(self, spot: Spot) -> str:
        """Return the variable that the step around a spot sets."""
        step: Any = self.root(spot)
        for part in spot.path[: spot.depth - 1]:
            step = step[part]
            if isinstance(step, Map) and "as" in step:
                return str(step["as"])
        return ""

    def of_result(self, file: str, name: str, own: str) -> Speakers:
        """What a function returns is spoken of by those that call it, and by `session`."""
        read = re.compile(rf"vars\.\w+\??\.{name}\b")
        found = [
            other for other in self.callers(file)
            if other.startswith("functions/") and read.search(self.sample.files[other])
        ]  # fmt: skip
        session = self.project.settings.model.session
        fields = {session.token_field, session.refresh_field} if session else set()
        if session is not None and name in fields:
            asked = [session.login, session.signup, session.refresh]
            runs = {self.project.endpoints[one].model.function for one in asked if one}
            found += ["project.yaml"] if name_of(file) in runs else []
        return tuple(found)

    def heard(self, spot: Spot) -> bool:
        """Return whether a trigger's function says what payload it takes."""
        functions = self.project.functions
        event = spot.holder_value(self.sample.documents[spot.file].root, "event")
        return any(
            one.model.event == event and functions[one.model.function].model.payload is not None
            for one in self.project.triggers.values()
        )

    def is_json(self, spot: Spot, word: Word) -> bool:
        """Return whether a name is read of JSON, of which the language never says what is in it."""
        node = word.node
        if not isinstance(node, Member):
            return False
        path = spelt(node.of)
        if spot.owner.__name__ == "Expect":  # what the server answers by itself, and with throw
            status = spot.holder_value(self.root(spot), "status")
            return path.startswith("result") and (status or 200) >= 400
        return any(path == one or path.startswith(f"{one}.") for one in JSON)

    def is_checked_before(self, spot: Spot, node: Node) -> bool:
        """Return whether an `if` of the same file looks for null in just this value."""
        text = str(spot.value)[node.start : node.end]
        return spot.path[-1] != "if" and f"if: {text} != null" in self.sample.files[spot.file]


def name_of(file: str) -> str:
    return file.partition("/")[2].removesuffix(".yaml")


def _is_listed(spot: Spot) -> bool:
    """Return whether a key belongs to a row in a list of rows."""
    return len(spot.path) > 1 and isinstance(spot.path[-2], int)
