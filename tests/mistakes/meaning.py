"""What a change means, by what the language says: the half of the proof that knows no checker.

A mistake is a change after which the project cannot mean what it did, and which somebody who knows
the language and this project, but not its author's wishes, would call one:

* a word of the language, a reference or a constant of a typed place is written wrongly;
* a name that others here speak of is declared otherwise, or no more;
* what is required, by the models or because others need it, is left out.

No mistake is what gives another right project: free text, names that nobody speaks of, optional
keys left out, what a test sends (it may send what is wrong), names inside of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bbops.expressions.nodes import Member, Node
from bbops.yaml.document import Map
from tests.mistakes.sample import Sample
from tests.mistakes.spots import Spot, is_addon
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

JSON = ("vars.apiKey.claims", "vars.auth.claims", "vars.event.data.object")
"""Paths in the samples under which stands JSON: claims, and what a payment provider sends."""

_SHAPES = ("input", "query", "params", "payload")
_ROWS = {("InsertParameters", "data"), ("UpdateParameters", "data"), ("OnConflict", "do")}
_ARGUMENTS = {("CallParameters", part) for part in ("input", "params", "query")}
_MESSAGES = {("PublishParameters", "params"), ("PublishParameters", "payload")}


class Meaning:
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
            case ("Function", part) | ("Field", part) if part in {*_SHAPES, "fields"}:
                return self.of_field(spot, name.rstrip("?"))
            case ("Endpoint", "files"):
                function = self.project.endpoints[_name(spot.file)].model.function
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
            case _ if where in _ROWS:
                return (spot.file,) if depth == 1 or _is_listed(spot) else ()
            case _ if where in _ARGUMENTS | _MESSAGES:
                return (spot.file,) if depth == 1 else ()
            case ("EmitParameters", "payload") if depth == 1 and self.heard(spot):
                return (spot.file,)
            case ("FindParameters", "select") | ("LoopParameters", "collect"):
                return self.if_read_of(name, spot)
            case ("ReturnParameters", "value") if depth == 1:
                return self.of_result(spot.file, name, own)
            case _:
                return ()

    def reading(self, path: str, files: Iterable[str]) -> Speakers:
        """Return the files that read a path."""
        return tuple(file for file in files if reads(self.sample.files[file], path))

    def of_column(self, file: str, name: str) -> Speakers:
        """A column is spoken of where its table is, and where others refer to it."""
        table, word = _name(file), re.compile(rf"(?<![\w-]){name}(?!\w)")
        relation = re.compile(rf"\b{name.removesuffix('_id')}\.") if name.endswith("_id") else word
        of_table = re.compile(rf"\b(table: |{table}\.){table}\b|^  {table}:", re.MULTILINE)
        found = [
            other for other, text in self.sample.files.items()
            if other != file and of_table.search(text)
            and (word.search(text) or relation.search(text))
        ]  # fmt: skip
        found += self.reading(f"{table}.{name}", self.sample.files)
        if len(re.findall(rf"(?<![\w.-]){name}(?!\w)", self.sample.files[file])) > 1:
            found.append(file)
        return tuple(found)

    def of_field(self, spot: Spot, name: str) -> Speakers:
        own = self.sample.files[spot.file]
        roots = [f"{part}.{name}" for part in ("input", "query", "params", "event.payload")]
        is_read = any(reads(own, root) for root in roots)
        inner = len(spot.path) > 2 and re.search(rf"\.{name}\b", own) is not None
        listed = re.search(rf"(has|pick|omit)\([^)]*'{name}'", own) is not None
        return (spot.file, *self.callers(spot.file)) if is_read or inner or listed else ()

    def callers(self, file: str) -> Speakers:
        """Return the files that call a function."""
        name = re.escape(_name(file))
        found = re.compile(rf"function: {name}\b(?!/)")
        return tuple(other for other, text in self.sample.files.items() if found.search(text))

    def of_event(self, spot: Spot, name: str, depth: int) -> Speakers:
        topic = _name(spot.file)
        event = name if depth == 1 else str(spot.path[-2])
        speak = re.compile(rf"realtime: {topic}\b[^-]*?event: {re.escape(event)}\b", re.DOTALL)
        found = [file for file, text in self.sample.files.items() if speak.search(text)]
        return tuple(file for file in found if name in self.sample.files[file])

    def of_variable(self, spot: Spot, name: str) -> Speakers:
        """A variable is read in its function, and behind it where that is middleware."""
        if _name(spot.file) in self.project.middleware:
            return self.reading(f"vars.{name}", self.sample.files)
        return self.reading(f"vars.{name}", [spot.file])

    def if_read_of(self, name: str, spot: Spot) -> Speakers:
        """Return the file itself if it reads a member of this name."""
        own = self.sample.files[spot.file]
        step = self._root(spot)
        for part in spot.path[: spot.depth - 1]:
            step = step[part]
            if isinstance(step, Map) and "as" in step:
                break
        found = str(step.get("as")) if isinstance(step, Map) else ""
        each = re.findall(rf"over: vars\.{found}\b.*\n +each: (\w+)", own)
        roots = "|".join([found, *each])
        member = rf"vars\.({roots})(\??\.\w+|\[\w+\])*?\??\.{name}\b"
        read = re.search(rf"{member}|orderBy: \[?{name}\b|'{name}'", own)
        return (spot.file,) if read else ()

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
            found += ["project.yaml"] if _name(file) in runs else []
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
            status = spot.holder_value(self._root(spot), "status")
            return path.startswith("result") and (status or 200) >= 400
        return any(path == one or path.startswith(f"{one}.") for one in JSON)

    def is_checked_before(self, spot: Spot, node: Node) -> bool:
        """Return whether an `if` of the same file looks for null in just this value."""
        text = str(spot.value)[node.start : node.end]
        return not spot.path[-1] == "if" and f"if: {text} != null" in self.sample.files[spot.file]

    # ---- what is left out
    def needing(self, spot: Spot) -> Speakers:
        """Return the files that need what a key holds: its own where the language does."""
        if spot.required:
            return (spot.file,)
        where = (spot.owner.__name__, spot.field)
        if spot.key_role == "name":
            return self.needing_name(spot, where)
        if spot.key_role != "keyword":
            return self.needing_data(spot, where)
        match where:
            case (_, "as") | ("LoopParameters", "each" | "index"):
                name, own = str(spot.value), self.sample.files[spot.file]
                is_set_twice = len(re.findall(rf"as: {name}\b|^ +{name}: ", own, re.M)) > 1
                return () if is_set_twice else self.of_variable(spot, name)
            case ("Test", "function" | "endpoint") | ("Task", "schedule" | "every"):
                return (spot.file,)
            case ("Trigger", "database" | "event" | "webhook") | ("Try", "catch"):
                return (spot.file,)
            case ("Column", "primaryKey"):
                return (spot.file,)
            case ("Column", "references"):
                return self.of_relation(spot)
            case ("Column", "reverse"):
                asks = re.compile(rf"\b(exists|count|list|sum)\((\w+\.)*{spot.value}\b|^ +{spot.value}:\n +- ",
                                  re.MULTILINE)  # fmt: skip
                return tuple(f for f, text in self.sample.files.items() if asks.search(text))
            case ("Endpoint", "channel"):
                given = self.project.endpoints[_name(spot.file)].model.authentication
                return () if given else (spot.file,)
            case ("Endpoint", "authentication"):
                given_by = self.project.endpoints[_name(spot.file)].model.channel
                return () if given_by else (spot.file,)
            case ("Endpoint", "files"):
                return self.any_of(spot)
            case ("Function", "input"):
                return self.any_of(spot)
            case ("Function", "params" | "query"):
                return self.any_of(spot) if self.is_typed(spot) else ()
            case ("Project", "env"):
                return self.any_of(spot)
            case ("Realtime", "events"):
                return self.any_of(spot)
            case ("Project", "auth"):
                signed = re.compile(r"^authentication: JWT|generateAuthToken|vars\.auth", re.M)
                return tuple(f for f, text in self.sample.files.items() if signed.search(text))
            case ("Addon", "config" | "enabled") if spot.value is not False:
                step = re.compile(rf"\b{_name(spot.file)}\.\w+:")
                runs = [f for f, text in self.sample.files.items() if step.search(text)]
                return (spot.file, *runs) if runs or spot.field == "config" else ()
            case ("FindParameters", "one") | ("DeleteParameters" | "UpdateParameters", "one"):
                return self.of_row(spot)
            case ("FindParameters", "aggregate"):
                return self.any_of(spot)
            case ("CallParameters", part):
                return self.any_argument(spot, part)
            case ("PublishParameters", "params" | "payload"):
                return (spot.file,)
            case ("EmitParameters", "payload") if self.heard(spot):
                return (spot.file,)
            case _:
                return ()

    def is_typed(self, spot: Spot) -> bool:
        """Return whether a shape says more of what comes in a path or query than that it is text.

        What is not declared there is a text, or null.
        """
        shape = getattr(self.project.functions[_name(spot.file)].model, spot.field)
        names = shape if len(spot.path) == 1 else [spot.path[1]]
        plain = {"string", "text", "uuid", "email", "url"}
        is_called = any(one.startswith("functions/") for one in self.callers(spot.file))
        return is_called or any(
            shape[name].parts[0] not in plain or shape[name].default is not None
            for name in names
        )

    def needing_name(self, spot: Spot, where: tuple[str, str]) -> Speakers:
        if where[0] in {"Case", "Expect", "Test"} and where != ("Case", "params"):
            return ()
        if where[0] == "Test" or where == ("Table", "seed"):
            return ()
        if where in {("Function", "params"), ("Function", "query")} and not self.is_typed(spot):
            return ()
        if where == ("Function", "payload"):
            return ()
        return self.speakers(spot)

    def needing_data(self, spot: Spot, where: tuple[str, str]) -> Speakers:
        """Return the file itself where its step cannot do without a key."""
        name = str(spot.path[-1])
        if where == ("InsertParameters", "data"):
            table = self.project.sql_tables.get(spot.holder_value(self._root(spot), "table"))
            column = table.columns.get(name) if table else None
            return (spot.file,) if column is not None and column.is_required else ()
        if where in _ROWS:
            return ()
        if where in _ARGUMENTS:
            called = spot.holder_value(self._root(spot), "function")
            shape = getattr(self.project.functions[called].model, spot.field) or {}
            return (spot.file,) if name in shape and shape[name].default is None else ()
        if where == ("PublishParameters", "payload"):
            realtime = self.project.realtime[spot.holder_value(self._root(spot), "realtime")]
            event = realtime.model.events[spot.holder_value(self._root(spot), "event")]
            return (spot.file,) if name in event else ()
        if where == ("EmitParameters", "payload") and self.heard(spot):
            return (spot.file,)
        if is_addon(spot.owner) or where[0] in {"Case", "Expect", "Event", "User"}:
            return ()
        return self.speakers(spot)

    def _root(self, spot: Spot) -> Map:
        root = self.sample.documents[spot.file].root
        assert isinstance(root, Map)
        return root

    def of_relation(self, spot: Spot) -> Speakers:
        """A foreign key is spoken of by the name of its relation, on either side."""
        table, relation = _name(spot.file), str(spot.path[-2]).removesuffix("_id")
        of_table = re.compile(rf"^ +(- )?table: {table}$", re.MULTILINE)
        one = re.compile(rf"(?<![\w.]){relation}\.\w")
        other = str(spot.value).partition(".")[0]
        of_other = re.compile(rf"^ +(- )?table: {other}$", re.MULTILINE)
        many = re.compile(rf"\b(exists|count|list|sum)\((\w+\.)*{table}\b")
        return tuple(
            file for file, text in self.sample.files.items()
            if (of_table.search(text) and one.search(text))
            or (of_other.search(text) and many.search(text))
        )

    def any_of(self, spot: Spot) -> Speakers:
        """Return who speaks of any of the names under a key."""
        found: dict[str, None] = {}
        for other in self.sample.spots:
            inside = other.file == spot.file and other.path[: len(spot.path)] == spot.path
            if inside and len(other.path) == len(spot.path) + 1 and other.key_at:
                found |= dict.fromkeys(self.speakers(other))
        return tuple(found)

    def any_argument(self, spot: Spot, part: str) -> Speakers:
        called = str(spot.holder_value(self._root(spot), "function"))
        shape = getattr(self.project.functions[called].model, part) or {}
        needs = any(not name.endswith("?") and of.default is None for name, of in shape.items())
        return (spot.file,) if needs else ()

    def of_row(self, spot: Spot) -> Speakers:
        """`one` is needed where a field of the result is read."""
        root: object = self._root(spot)
        for part in spot.path[:-2]:
            root = root[part]  # type: ignore[index]
        name = root.get("as") if isinstance(root, Map) else None
        own = self.sample.files[spot.file]
        return (spot.file,) if name and re.search(rf"vars\.{name}\.", own) else ()

    # ---- constants
    def wanted(self, spot: Spot) -> str:
        """Return the kind of constant that a typed place takes: text, number …; or nothing."""
        where = (spot.owner.__name__, spot.field)
        if spot.role in {"choice", "type", "text", "pattern", "static"}:
            return "text"
        if spot.role in {"whole", "number"}:
            return "number"
        if spot.role == "truth":
            return "boolean"
        if spot.role == "expression":
            return "boolean" if spot.field in {"if", "where", "check", "checks"} else ""
        if spot.role == "value" and where in _ROWS | {("Test", "data")}:
            return self.of_column_type(spot, where)
        if where in {("FindParameters", "limit"), ("FindParameters", "offset")}:
            return "number"
        if where in {("ReturnParameters", "status"), ("ThrowParameters", "status")}:
            return "number"
        return ""

    def of_column_type(self, spot: Spot, where: tuple[str, str]) -> str:
        column = self.column(spot, where)
        if column is None:
            return ""
        kinds = {"integer": "number", "bigint": "number", "number": "number", "boolean": "boolean",
                 "decimal": "", "json": "", "binary": ""}  # fmt: skip
        return kinds.get(column.type, "text")

    def column(self, spot: Spot, where: tuple[str, str]) -> object:
        """Return the column that a value is for."""
        root = self._root(spot)
        if where == ("Test", "data"):
            table = str(spot.path[1])
        elif where[0] == "OnConflict":
            return None
        else:
            table = str(spot.holder_value(root, "table"))
        model = self.project.tables[table].model if table in self.project.tables else None
        return model.columns.get(str(spot.path[-1])) if model else None

    def options(self, spot: Spot) -> list[str]:
        """Return the texts of which a constant must be one."""
        where = (spot.owner.__name__, spot.field)
        if spot.role == "value" and where in _ROWS | {("Test", "data")}:
            column = self.column(spot, where)
            return [str(one) for one in getattr(column, "enum", None) or ()]
        return []

    def is_option(self, spot: Spot, node: Node, value: str) -> bool:
        """Return whether an expression is of something declared to be one of some texts."""
        name = spelt(node).rpartition(".")[2]
        for other in self.sample.spots:
            if (
                other.field == "enum"
                and other.value == value
                and len(other.path) > 2
                and str(other.path[-3]).rstrip("?") == name
                and self._may_be_about(spot, other)
            ):
                return True
        return False

    def _may_be_about(self, spot: Spot, other: Spot) -> bool:
        """A column counts where its table is spoken of, a field in its own function."""
        if other.owner.__name__ == "Column":
            return _name(other.file) in self.sample.files[spot.file]
        return other.file == spot.file


def _name(file: str) -> str:
    return file.partition("/")[2].removesuffix(".yaml")


def _is_listed(spot: Spot) -> bool:
    """Return whether a key belongs to a row in a list of rows."""
    return len(spot.path) > 1 and isinstance(spot.path[-2], int)
