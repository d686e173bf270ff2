"""`select` as a shape: its check, and the code that builds a row of one tuple."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from bbops.base.diagnostics import suggest
from bbops.language.expressions import nodes as s
from bbops.language.expressions.known import Facts
from bbops.language.expressions.related import related_scope
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import NEVER, Type, list_of, map_of
from bbops.language.expressions.values import Bare, Broken, Expression
from bbops.language.sql.dialect import Template, seq
from bbops.language.sql.parts import NotInSql, Parts
from bbops.language.sql.query import check_nesting
from bbops.language.sql.related import MOST_RELATED, RelatedRows, as_json, listed, rows_of
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.language.steps._checking import Checking, mark_of
from bbops.language.steps._flow import Flow
from bbops.language.steps._order import check_order, order_clause, order_texts
from bbops.language.steps._query import check_columns
from bbops.language.steps._shape import Listed, Many, NestedFind, Selected, leaves
from bbops.runtime.values.identifiers import quote

MOST_LISTS = 4
"""The deepest nesting of lists; the innermost one has no room for parentheses."""


# ---- check
def check_select(
    at: Checking, shape: Selected, scope: Scope, query: Parts, facts: Facts
) -> Type:  # fmt: skip
    """Report the mistakes of a shape, also those that only its SQL shows; return a row's type.

    Args:
        facts: the facts about the rows.
    """
    with scope.knowing(facts):
        return _check(at, opened(shape, query.table, at), scope, query)


def opened(shape: Selected, table: SqlTable, at: Checking | None = None) -> Selected:
    """Return a shape whose lists of columns are written out: `author: [id]` as `{ id: author.id }`.

    Args:
        at: gets the names that are not relations, and unknown columns.
    """
    items = (
        (name, _opened(name, value, table, at) if isinstance(value, Selected | Many | Listed)
         else value) for name, value in shape.items
    )  # fmt: skip
    return Selected(tuple((name, item) for name, item in items if item is not None), shape.mark)


def _opened(
    name: str, value: Selected | Many | Listed, table: SqlTable, at: Checking | None
) -> Selected | Many | None:
    if isinstance(value, Selected):
        return opened(value, table, at)
    one, many = table.relations.get(name), table.children.get(name)
    if isinstance(value, Many):
        if value.find is not None:
            return value  # its own `select` is written out once its table is known
        inner = table.tables[many.table] if many is not None else None
        return Many(opened(value.each, inner, at), value.mark) if inner is not None else value
    if (one is None or name in table.columns) and many is None:
        if at is not None and all(folder != "tables" for folder, _ in at.broken):
            at.report(
                value.mark, "relation", f"'{name}' is not a relation of table '{table.name}'",
                suggest(name, {**table.relations, **table.children}) or _write_out(name, table),
            )  # fmt: skip
        return None
    is_one = one is not None and name not in table.columns
    target = table.tables[one.table if is_one and one is not None else many.table]  # type: ignore[union-attr]
    if at is not None:
        check_columns(at, target, value.columns)
        at.reads([target.name])
    found = [of for of in (value.of_one if is_one else value.of_many) if of[0] in target.columns]
    shape = Selected(tuple(found), value.mark)
    return shape if is_one else Many(shape, value.mark)


def _write_out(name: str, table: SqlTable) -> str:
    if name in table.columns:
        return f"'{name}' is a column: write '{name}: {name}'"
    known = sorted({*table.relations, *table.children})
    return f"its relations: {', '.join(known) or 'none'}"


def _check(at: Checking, shape: Selected, scope: Scope, query: Parts) -> Type:
    found: dict[str, Type] = {}
    for name, value in shape.items:
        if isinstance(value, Selected):
            of = _check(at, value, scope, query)
            found[name] = of.or_null() if optional_relation(query, value) else of
        elif isinstance(value, Many):
            found[name] = _check_many(at, name, value, scope, query)
        elif not isinstance(value, Listed):
            for table in _tables(query):
                at.follows(table, value)
            found[name] = at.value(value, within=scope)
            _try(at, value, query)
    return map_of(found, "the row")


def _check_many(at: Checking, name: str, many: Many, scope: Scope, query: Parts) -> Type:
    path = path_to(name, many)
    if len(list(_tables(query))) > MOST_LISTS:
        message = f"lists can be nested at most {MOST_LISTS} deep"
        at.report(many.mark, "not-in-sql", message, "find the inner rows in a separate step")
        return NEVER
    inner = related_scope(scope, path)
    if isinstance(inner, str):
        message = f"'{'.'.join(path)}' is not a relation of table '{query.table.name}' to many rows"
        mark = many.mark if many.find is None else mark_of(many.find.relation)
        at.report(mark, "relation", message, inner)
        return NEVER
    rows = _rows(query, path)
    at.reads(query.table.reachable(set(path)))
    at.reads([rows.query.table.name])
    if many.find is None:
        return list_of(_check(at, many.each, inner, rows.query))
    return _check_nested(at, many, many.find, inner, rows.query)


def _check_nested(
    at: Checking, many: Many, find: NestedFind, scope: Scope, query: Parts
) -> Type:  # fmt: skip
    """Check `{ find: … }` in `select`; `scope` and `query` belong to the relation's rows."""
    facts: Facts = {}
    if find.where is not None:
        facts, _ = at.condition(find.where, many.mark, within=scope)
        for table in _tables(query):
            at.follows(table, find.where)
        _try(at, find.where, query)
    if order_texts(find.order_by) is None:
        message = "'orderBy' of a nested list is 'column.desc', or a list of such"
        at.report(mark_of(find.order_by) or many.mark, "nested-find", message)
    else:
        check_order(at, query.table, find.order_by, many.mark, paged=False)
    columns = find.select if isinstance(find.select, tuple) else ()
    check_columns(at, query.table, columns)
    if isinstance(find.select, Selected):
        with scope.knowing(facts):
            row = _check(at, opened(find.select, query.table, at), scope, query)
    else:
        row = query.table.row_type(columns or None)
    return row.or_null() if find.one else list_of(row)


def path_to(name: str, many: Many) -> tuple[str, ...]:
    """Return the relation that a list follows."""
    return (name,) if many.find is None else tuple(str(many.find.relation).split("."))


def _rows(query: Parts, path: tuple[str, ...]) -> RelatedRows:
    return rows_of(query, s.Name(0, 0, path[0]), path)


def _tables(query: Parts) -> Iterator[SqlTable]:
    """Yield the tables whose columns a value may read, innermost first."""
    yield query.table
    while query.outer is not query:
        query = query.outer
        yield query.table


def _try(at: Checking, value: Bare, query: Parts) -> None:
    """Compile a value for its mistakes only, unless it has others already."""
    if isinstance(value, Broken) or not at.is_sound(value):
        return
    node, lists = value.node, len(list(_tables(query))) - 1
    try:
        check_nesting(node, _compile(query, node)[0], lists=lists)
    except NotInSql as problem:
        at.scope.report(value.mark, problem.offset, problem.code, problem.message, problem.hint)


def _compile(query: Parts, node: s.Node) -> tuple[Template, SqlColumn]:
    """Return a value as SQL, and the column that decodes it or each member of a list."""
    if is_list(node):
        return listed(query, node)
    return query.scalar(node), query.column_of("", node)


def is_list(node: s.Node) -> TypeGuard[s.FunctionCall]:
    """Return whether a value is `list(relation, column)`."""
    return isinstance(node, s.FunctionCall) and node.name == "list"


# ---- optional relations
def optional_relation(query: Parts, shape: Selected) -> str:
    """Return the key, as SQL, of the one optional row that all values of a map come through.

    Empty if they have no such row in common, or it always exists.
    """
    found = [_path(query, leaf) for leaf in leaves(shape)]
    owners = {id(owner): owner for owner, _ in found}
    if len(owners) != 1 or any(len(path) < 2 for _, path in found):
        return ""
    (owner,) = owners.values()
    relations = [path[:-1] for _, path in found]
    prefix = min(relations, key=len)
    while any(relation[: len(prefix)] != prefix for relation in relations):
        prefix = prefix[:-1]
    return _optional_key(owner, prefix)


def _path(query: Parts, value: Bare | Many) -> tuple[Parts, tuple[str, ...]]:
    path = query.path(value.node) if isinstance(value, Expression) else None
    if path is None or not isinstance(value, Expression):
        return query, ()
    return query.owner(value.node, path), path


def _optional_key(owner: Parts, prefix: tuple[str, ...]) -> str:
    table, relations = owner.table, []
    for name in prefix:
        relations.append(table.relations[name])
        table = table.tables[relations[-1].table]
    if not any(relation.optional for relation in relations):
        return ""
    key = (*prefix, relations[-1].key)
    return owner.reach(s.Name(0, 0, prefix[0]), owner.alias, owner.table, key)


# ---- code
class SelectCode:
    """Collects the columns of one SELECT, and builds the row out of them."""

    def __init__(self, flow: Flow, query: Parts, *, rows: RelatedRows | None = None) -> None:
        """Args: `rows`: the tuple is a JSON list that begins with a part of their key."""
        self.flow, self.query, self.in_json = flow, query, rows is not None
        self.columns: list[Template] = [] if rows is None else [rows.order.partition(",")[0]]

    def row(self, shape: Selected) -> ast.expr:
        """Return the code that builds a row out of the tuple `r`."""
        keys: list[ast.expr | None] = [ast.Constant(name) for name, _ in shape.items]
        return ast.Dict(keys, [self.value(name, value) for name, value in shape.items])

    def whole(self, shape: Selected) -> tuple[ast.expr, dict[str, str]]:
        """Return the code that builds a row, and the SQL of computed values, for ORDER BY."""
        keys: list[ast.expr | None] = []
        code, places = [], dict[str, str]()
        for name, value in shape.items:
            at = len(self.columns)
            keys.append(ast.Constant(name))
            code.append(self.value(name, value))
            if isinstance(value, Expression) and not is_list(value.node):
                kind = self.query.type_of(value.node).kind
                places[name] = str(at + 1) + (self.query.dialect.by_value * (kind == "decimal"))
                if kind == "text":
                    self.columns[at] = seq(self.columns[at], self.query.dialect.by_code_point)
        return ast.Dict(keys, code), places

    def value(self, name: str, value: Bare | Selected | Many | Listed) -> ast.expr:
        if isinstance(value, Selected):
            return self.map(value)
        if isinstance(value, Many):
            return self.many(name, value)
        assert isinstance(value, Expression)  # noqa: S101 - the check has tested it
        sql, column = _compile(self.query, value.node)
        if is_list(value.node):
            return self.each(sql, self.flow.decoded("r", column, in_json=True))
        at = self.take(self.query.dialect.in_json(sql, column.type) if self.in_json else sql)
        return self.flow.decoded(f"r[{at}]", column, in_json=self.in_json)

    def map(self, shape: Selected) -> ast.expr:
        inner, key = self.row(shape), optional_relation(self.query, shape)
        if not key:
            return inner
        return self.flow.expression(f"None if r[{self.take(key)}] is None else inner", inner=inner)

    def many(self, name: str, many: Many) -> ast.expr:
        """Return the code of a list of rows, which the database returns as JSON."""
        rows = _rows(self.query, path_to(name, many))
        inner, find = SelectCode(self.flow, rows.query, rows=rows), many.find
        if find is None:
            row = inner.row(many.each)
            return self.each(as_json(inner.columns, rows), row)
        row = inner.nested(find, rows)
        condition = find.where.node if isinstance(find.where, Expression) else None
        wanted = "" if condition is None else seq(" AND ", rows.query.condition(condition))
        order = order_clause(rows.query, order_texts(find.order_by) or ())
        limit = 1 if find.one else find.limit or MOST_RELATED
        cells = as_json(inner.columns, rows, where=wanted, order=order, limit=limit)
        members = self.each(cells, row)
        if not find.one:
            return members
        first = self.flow.use("filter:first")
        return self.flow.expression("first(members)", first=first, members=members)

    def nested(self, find: NestedFind, rows: RelatedRows) -> ast.expr:
        """Return the code that builds a row of a nested list."""
        if isinstance(find.select, Selected):
            return self.row(opened(find.select, rows.query.table))
        table = rows.query.table
        codes = []
        for name in find.select or tuple(table.columns):
            column = table.columns[name]
            cell = self.query.dialect.column(f"{rows.query.alias}.{quote(name)}", column.type)
            at = self.take(self.query.dialect.in_json(cell, column.type))
            codes.append(self.flow.decoded(f"r[{at}]", column, in_json=True))
        names: list[ast.expr | None] = [
            ast.Constant(str(name)) for name in find.select or tuple(table.columns)
        ]
        return ast.Dict(names, codes)

    def each(self, sql: Template, member: ast.expr) -> ast.expr:
        """Return the code that makes every `r` of a JSON list a `member`."""
        at = self.take(self.query.dialect.nested_json(sql) if self.in_json else sql)
        source = "r[{at}]" if self.in_json else "listed(r[{at}])"
        members = self.flow.expression(source.format(at=at), listed=self.flow.row_code("listed"))
        return ast.ListComp(member, [ast.comprehension(ast.Name("r", ast.Store()), members, [], 0)])

    def take(self, column: Template) -> int:
        self.columns.append(column)
        return len(self.columns) - 1
