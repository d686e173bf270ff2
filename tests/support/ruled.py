"""Random rules of tables and random queries, each as YAML and as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Row = dict[str, Any]
Data = Mapping[str, Sequence[Row]]
User = int | None

COLUMNS = {
    "teams": ["owner_id", "score"],
    "notes": ["team_id", "user_id", "score"],
    "comments": ["note_id", "user_id", "score"],
    "members": ["team_id", "user_id", "score"],
}
ONE = {"notes": ("team", "teams"), "comments": ("note", "notes"), "members": ("team", "teams")}
MANY = {"teams": ["notes", "members"], "notes": ["comments"]}
SCOPED = ("notes", "comments", "members")
TABLES = {
    "teams": "  owner_id: { type: integer, nullable: true }\n",
    "notes": (
        "  team_id: { type: integer, nullable: true, references: teams.id }\n"
        "  user_id: { type: integer, nullable: true }\n"
        "  touched: { type: integer, default: 0 }\n"
    ),
    "comments": (
        "  note_id: { type: integer, references: notes.id, onDelete: cascade }\n"
        "  user_id: { type: integer, nullable: true }\n"
    ),
    "members": (
        "  team_id: { type: integer, nullable: true, references: teams.id }\n"
        "  user_id: { type: integer, nullable: true }\n"
    ),
}
PROJECT = """
bbops: 1
name: desk
env: { JWT_SECRET: { secret: true } }
auth: { users: people, signingKey: "${ env.JWT_SECRET }" }
"""
PEOPLE = """
columns:
  id: { type: integer, primaryKey: true }
  role: { type: string, enum: [admin, user], default: user }
"""
CHANNEL = "name: Desk\nbasePath: /desk\nauthentication: Optional\n"
_WHO = "vars.auth.userId"


@dataclass(frozen=True)
class Part:
    """A condition: its text, and what it is for a row."""

    text: str
    holds: Callable[[Seen, Row], bool]


@dataclass(frozen=True)
class Ruled:
    """The rules of all tables."""

    scope: Mapping[str, Part]
    access: Mapping[str, Mapping[str, Part]]

    def yaml(self, table: str) -> str:
        """Return the file of a table."""
        lines = ["columns:\n  id: { type: integer, primaryKey: true }\n"]
        lines += [TABLES[table], "  score: { type: integer, nullable: true }\n"]
        lines += ["  gone: { type: integer, nullable: true }\n"]
        if table in self.scope:
            lines.append(f"scope: {self.scope[table].text}\n")
        if table in self.access:
            lines.append("access:\n")
            lines += [f"  {name}: {one.text}\n" for name, one in self.access[table].items()]
        return "".join(lines)


@dataclass(frozen=True)
class Seen:
    """What somebody sees of the rows; rules see what is kept."""

    data: Data
    rules: Ruled
    user: User
    by_rules: bool = False

    def rows(self, table: str) -> list[Row]:
        kept = self.rules.scope.get(table)
        rows = [row for row in self.data[table] if kept is None or kept.holds(self, row)]
        return rows if self.by_rules else self.allowed(table, "read", rows)

    def allowed(self, table: str, operation: str, rows: list[Row]) -> list[Row]:
        rule = self.rules.access.get(table, {}).get(operation)
        within = Seen(self.data, self.rules, self.user, by_rules=True)
        return [row for row in rows if rule is None or rule.holds(within, row)]

    def one(self, table: str, row: Row) -> Row | None:
        """Return the row that the relation to one of a table leads to."""
        name, other = ONE[table]
        return next((one for one in self.rows(other) if one["id"] == row[f"{name}_id"]), None)

    def many(self, table: str, child: str, row: Row) -> list[Row]:
        name, _ = ONE[child]
        return [one for one in self.rows(child) if one[f"{name}_id"] == row["id"]]


# ---- conditions
def draw_rules(random: Random) -> Ruled:
    """Return rules of some of the tables."""
    scope = {name: _kept(random) for name in SCOPED if random.random() < 0.5}
    access = {
        name: {one: condition(random, name, 2) for one in ("read", "insert", "update", "delete")}
        for name in COLUMNS if random.random() < 0.7
    }  # fmt: skip
    return Ruled(scope, access)


def _kept(random: Random) -> Part:
    if random.random() < 0.7:
        return Part("gone == null", lambda _, row: row["gone"] is None)
    return Part("(gone | default(0)) < 2", lambda _, row: (row["gone"] or 0) < 2)


def condition(random: Random, table: str, depth: int, *, related: bool = True) -> Part:
    """Return a condition over the rows of a table, of related rows and of who asks."""
    chance = random.random()
    if depth and chance < 0.5:
        a, b = (condition(random, table, depth - 1, related=related) for _ in "ab")
        if random.random() < 0.5:
            return Part(f"({a.text} and {b.text})", lambda s, r: a.holds(s, r) and b.holds(s, r))
        return Part(f"({a.text} or {b.text})", lambda s, r: a.holds(s, r) or b.holds(s, r))
    if depth and chance < 0.6:
        of = condition(random, table, depth - 1, related=related)
        return Part(f"(not {of.text})", lambda s, r: not of.holds(s, r))
    if related and table in MANY and chance < 0.75:
        return _exists(random, table, random.choice(MANY[table]))
    if related and table in ONE and chance < 0.87:
        name, other = ONE[table]
        column = random.choice(COLUMNS[other])
        inner = _compared(random, column)
        return Part(
            inner.text.replace(column, f"{name}.{column}"),
            lambda s, r: inner.holds(s, s.one(table, r) or dict.fromkeys(COLUMNS[other])),
        )
    if chance > 0.95:
        return Part("(vars.auth?.role == 'admin')", lambda s, _: s.user == 0)
    return _compared(random, random.choice(COLUMNS[table]))


def _exists(random: Random, table: str, child: str) -> Part:
    of = condition(random, child, 0, related=False)
    if random.random() < 0.3:
        least = random.choice([0, 1, 2])
        return Part(
            f"(count({child}, {of.text}) > {least})",
            lambda s, r: sum(of.holds(s, c) for c in s.many(table, child, r)) > least,
        )
    return Part(
        f"exists({child}, {of.text})",
        lambda s, r: any(of.holds(s, c) for c in s.many(table, child, r)),
    )


def _compared(random: Random, name: str) -> Part:
    op = random.choice(["==", "!=", "<"])
    if random.random() < 0.45:
        if op == "!=":
            return Part(
                f"(vars.auth == null or {name} != {_WHO})",
                lambda s, r: s.user is None or r[name] != s.user,
            )
        return Part(
            f"(vars.auth != null and {name} == {_WHO})",
            lambda s, r: s.user is not None and r[name] == s.user,
        )
    value = random.choice([0, 1, 2, None])
    if value is None:
        return Part(f"({name} != null)", lambda _, r: r[name] is not None)
    if op == "<":
        return Part(
            f"({name} != null and {name} < {value})",
            lambda _, r: r[name] is not None and r[name] < value,
        )
    equal = op == "=="
    return Part(f"({name} {op} {value})", lambda _, r: (r[name] == value) is equal)


def draw_data(random: Random) -> dict[str, list[Row]]:
    """Return rows of each table; some are gone, some belong to nobody."""
    data: dict[str, list[Row]] = {}
    for table, columns in COLUMNS.items():
        rows = []
        for at in range(1, random.choice([0, 3, 9, 12]) + 1):
            row: Row = {"id": at, "gone": random.choice([None, None, 1, 2])}
            for name in columns:
                row[name] = random.choice([None, 0, 1, 2, 3])
            if table in ONE:
                name, other = ONE[table]
                ids = [one["id"] for one in data[other]]
                row[f"{name}_id"] = random.choice(ids + [None] * (table != "comments") or [None])
            rows.append(row)
        data[table] = [] if table == "comments" and not data["notes"] else rows
    return data
