"""The tables that a project declares, as queries see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bbops.language.expressions.syntax import parse
from bbops.language.expressions.values import Expression
from bbops.language.resources.table import OPERATIONS, Access, Table
from bbops.language.sql.computed import with_computed
from bbops.language.sql.types import Children, Partial, Relation, Rules, SqlColumn, SqlTable, linked


def sql_tables(tables: Mapping[str, Table]) -> dict[str, SqlTable]:
    """Return each table with its relations, by name."""
    found: dict[str, SqlTable] = {}
    children = _children(tables)
    for name, table in tables.items():
        found[name] = replace(
            _sql_table(name, table), relations=_relations(table, tables),
            children=children[name],
        )  # fmt: skip
    return _with_rules(found, tables)


def _with_rules(found: dict[str, SqlTable], tables: Mapping[str, Table]) -> dict[str, SqlTable]:
    rules = {name: _rules(name, table) for name, table in tables.items() if table.has_rules}
    within: dict[str, SqlTable] = {}  # as rules see them, which have no access to ask
    rules = {name: replace(rule, within=within) for name, rule in rules.items()}
    within |= linked({
        name: replace(table, rules=replace(rules[name], access={})) if name in rules else table
        for name, table in found.items()
    })  # fmt: skip
    return linked({
        name: replace(table, rules=rules[name]) if name in rules else table
        for name, table in found.items()
    })  # fmt: skip


def _rules(name: str, table: Table) -> Rules:
    scope = [table.scope] if isinstance(table.scope, Expression) else []
    if table.soft_delete is not None:
        scope.append(Expression(parse(f"{table.soft_delete} == null")))
    return Rules(
        tuple(scope), _access(table.access), table.soft_delete or "", file=f"tables/{name}.yaml"
    )


def _access(access: Access | None) -> dict[str, Expression]:
    """Return the condition of each operation; a mistake refuses the operation."""
    if access is None:
        return {}
    said = {name: access.of(name) for name in OPERATIONS}
    nobody = Expression(parse("false"))
    return {
        name: condition if isinstance(condition, Expression) else nobody
        for name, condition in said.items()
    }  # fmt: skip


def _relations(table: Table, tables: Mapping[str, Table]) -> dict[str, Relation]:
    """Return the relations of a table: `author` for the foreign key `author_id`."""
    found = {}
    for name, column in table.columns.items():
        target, _, key = (column.references or "").partition(".")
        if target in tables and name.endswith("_id"):
            found[name.removesuffix("_id")] = Relation(name, target, key, column.nullable)
    return found


def _children(tables: Mapping[str, Table]) -> dict[str, dict[str, Children]]:
    """Return the references to each table; two foreign keys of one table need `reverse`."""
    found: dict[str, dict[str, list[Children]]] = {name: {} for name in tables}
    for child, resource in tables.items():
        for name, column in resource.columns.items():
            target, _, key = (column.references or "").partition(".")
            if target in tables:
                children = Children(child, name, key)
                found[target].setdefault(column.reverse or child, []).append(children)
    return {
        table: {name: many[0] for name, many in of.items() if len(many) == 1}
        for table, of in found.items()
    }


def _sql_table(name: str, table: Table) -> SqlTable:
    columns = {
        column: SqlColumn(
            column, c.type, c.nullable, c.private, c.auto, c.default, tuple(c.enum or ()),
            c.max_length,
        ) for column, c in table.columns.items()
    }  # fmt: skip
    uniques = [table.key, *([column] for column, c in table.columns.items() if c.unique)]
    indexes = [index for index in table.indexes.values() if index.unique]
    uniques += [index.columns for index in indexes if index.where is None]
    partial = tuple(
        Partial(frozenset(index.columns), index.where)
        for index in indexes if isinstance(index.where, Expression)
    )  # fmt: skip
    found = SqlTable(name, columns, table.key, frozenset(map(frozenset, uniques)), partial)
    computed = {
        key: (declared.computed, declared.private) for key, declared in table.computed.items()
        if isinstance(declared.computed, Expression)
    }  # fmt: skip
    return with_computed(found, computed) if computed else found
