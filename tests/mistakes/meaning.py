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

from bbops.language.addons._base import kind
from bbops.language.expressions.nodes import Node
from bbops.language.resources.table import Column
from bbops.language.steps._base import find_step_kind
from bbops.source.yaml.document import Map
from tests.mistakes.names import ARGUMENTS, ROWS, Names, Speakers, name_of
from tests.mistakes.spots import Spot, is_addon
from tests.mistakes.words import spelt

_KINDS = {
    "integer": "number", "bigint": "number", "number": "number", "boolean": "boolean",
    "decimal": "", "json": "", "binary": "", "object": "", "list": "",
}  # fmt: skip
"""What a constant of a type is; a text of all others."""


class Meaning(Names):
    """Answers for one sample."""

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
                is_set_twice = len(re.findall(rf"as: {name}\b|^ +{name}: ", own, re.MULTILINE)) > 1
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
                asked = rf"\b(exists|count|list|sum)\((\w+\.)*{spot.value}\b"
                asks = re.compile(rf"{asked}|^ +{spot.value}:\n +- ", re.MULTILINE)
                return tuple(f for f, text in self.sample.files.items() if asks.search(text))
            case ("Endpoint", "channel"):
                given = self.project.endpoints[name_of(spot.file)].model.authentication
                return () if given else (spot.file,)
            case ("Endpoint", "authentication"):
                given_by = self.project.endpoints[name_of(spot.file)].model.channel
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
                signed = re.compile(
                    r"^authentication: JWT|generateAuthToken|vars\.auth", re.MULTILINE
                )
                return tuple(f for f, text in self.sample.files.items() if signed.search(text))
            case ("Addon", "config" | "enabled") if spot.value is not False:
                step = re.compile(rf"\b{name_of(spot.file)}\.\w+:")
                runs = [f for f, text in self.sample.files.items() if step.search(text)]
                known = kind(name_of(spot.file))
                if spot.field == "config" and known and not known.needs_config:
                    return ()
                return (spot.file, *runs) if runs or spot.field == "config" else ()
            case ("FindParameters", "one") | ("DeleteParameters" | "UpdateParameters", "one"):
                return self.of_row(spot)
            case ("FindParameters", "aggregate"):
                return self.any_of(spot, "values")
            case ("CallParameters", part):
                return self.any_argument(spot, part)
            case ("PublishParameters", "params" | "payload"):
                return (spot.file,)
            case ("EmitParameters", "payload") if self.heard(spot):
                return (spot.file,)
            case _:
                return ()

    def is_typed(self, spot: Spot) -> bool:
        """Return whether a shape says more of what comes in a path or query than its readers need.

        What is not declared there is a text, or null.
        """
        own = self.sample.files[spot.file]
        shape = getattr(self.project.functions[name_of(spot.file)].model, spot.field)
        names = list(shape) if len(spot.path) == 1 else [str(spot.path[1])]
        names = [one for one in names if f".{one.rstrip('?')} | toNumber" not in own]
        plain = {"string", "text", "uuid", "email", "url"}
        is_called = any(one.startswith("functions/") for one in self.callers(spot.file))
        return is_called or any(
            shape[name].parts[0] not in plain or shape[name].default is not None for name in names
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
            table = self.project.sql_tables.get(spot.holder_value(self.root(spot), "table"))
            column = table.columns.get(name) if table else None
            return (spot.file,) if column is not None and column.is_required else ()
        if where in ROWS:
            return ()
        if where == ("FindParameters", "select"):
            return self.if_read_of(name, spot)
        if where in ARGUMENTS:
            called = spot.holder_value(self.root(spot), "function")
            shape = getattr(self.project.functions[called].model, spot.field) or {}
            return (spot.file,) if name in shape and shape[name].default is None else ()
        if where == ("PublishParameters", "payload"):
            realtime = self.project.realtime[spot.holder_value(self.root(spot), "realtime")]
            event = realtime.model.events[spot.holder_value(self.root(spot), "event")]
            return (spot.file,) if name in event else ()
        if where == ("EmitParameters", "payload") and self.heard(spot):
            return (spot.file,)
        if is_addon(spot.owner) or where[0] in {"Case", "Expect", "Event", "User"}:
            return ()
        return self.speakers(spot)

    def of_relation(self, spot: Spot) -> Speakers:
        """A foreign key is spoken of by the name of its relation, on either side."""
        table, relation = name_of(spot.file), str(spot.path[-2]).removesuffix("_id")
        of_table = re.compile(rf"^ +(- )?table: {table}$", re.MULTILINE)
        one = re.compile(rf"(?<![\w.]){relation}\.\w")
        other = str(spot.value).partition(".")[0]
        of_other = re.compile(rf"^ +(- )?table: {other}$", re.MULTILINE)
        many = re.compile(rf"\b(exists|count|list|sum)\((\w+\.)*{table}\b")
        return tuple(
            file
            for file, text in self.sample.files.items()
            if (of_table.search(text) and one.search(text))
            or (of_other.search(text) and many.search(text))
        )

    def any_of(self, spot: Spot, *below: str) -> Speakers:
        """Return who speaks of any of the names under a key, or under one below it."""
        found: dict[str, None] = {}
        path = (*spot.path, *below)
        for other in self.sample.spots:
            if other.file == spot.file and other.path[:-1] == path and other.key_at:
                found |= dict.fromkeys(self.speakers(other))
        return tuple(found)

    def any_argument(self, spot: Spot, part: str) -> Speakers:
        called = str(spot.holder_value(self.root(spot), "function"))
        shape = getattr(self.project.functions[called].model, part) or {}
        needs = any(not name.endswith("?") and of.default is None for name, of in shape.items())
        return (spot.file,) if needs else ()

    def of_row(self, spot: Spot) -> Speakers:
        """`one` is needed where a field of the result is read."""
        root: object = self.root(spot)
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
        if spot.role == "value" and where in ROWS | {("Test", "data")}:
            return self.of_column_type(spot, where)
        if spot.role == "value" and where in ARGUMENTS:
            return self.of_argument(spot)
        if is_addon(spot.owner) and spot.depth == len(spot.path):
            return self.of_parameter(spot)
        if where in {("FindParameters", "limit"), ("FindParameters", "offset")}:
            return "number"
        if where in {("ReturnParameters", "status"), ("ThrowParameters", "status")}:
            return "number"
        return ""

    def of_argument(self, spot: Spot) -> str:
        """Return the kind that the called function declares."""
        called = self.project.functions[str(spot.holder_value(self.root(spot), "function"))]
        field = (getattr(called.model, spot.field) or {}).get(str(spot.path[-1]))
        return _KINDS.get(field.parts[0], "text") if field and not field.parts[1] else ""

    def of_parameter(self, spot: Spot) -> str:
        """Return the kind that a step of an addon takes."""
        kind = find_step_kind(str(spot.path[-2]))
        assert kind is not None
        takes = {one.name: one.takes for one in vars(kind)["action"].parameters}
        return {"text": "text", "integer": "number", "number": "number"}.get(takes[spot.field], "")

    def of_column_type(self, spot: Spot, where: tuple[str, str]) -> str:
        column = self.column(spot, where)
        if column is None:
            return ""
        return _KINDS.get(column.type, "text")

    def column(self, spot: Spot, where: tuple[str, str]) -> Column | None:
        """Return the column that a value is for."""
        root = self.root(spot)
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
        if spot.role == "value" and where in ROWS | {("Test", "data")}:
            column = self.column(spot, where)
            return [str(one) for one in (column.enum if column else None) or ()]
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
            return name_of(other.file) in self.sample.files[spot.file]
        return other.file == spot.file
