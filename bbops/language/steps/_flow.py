"""The code of a function under construction: expressions, names, queries and blocks.

Code is Python text with holes: `flow.run("await run.sleep(length)", length=…)`. A hole takes an
AST, statements (`BODY` alone), or `module:name` for the linker. Only such text has attributes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol

from bbops.language.expressions.emit import Emitter, load
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Bare, Constant, Expression, Value
from bbops.language.sql.dialect import Dialect, Template
from bbops.language.sql.query import Query
from bbops.language.sql.ruled import with_visible
from bbops.language.sql.sqlite import SQLITE
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.language.steps._bound_query import BoundQuery
from bbops.runtime.data.statements import Statement
from bbops.source.yaml.document import Mark

Hole = ast.expr | list[ast.stmt] | str


class Coded(Protocol):
    """A step as its code generator sees it."""

    @property
    def mark(self) -> Mark | None: ...
    def whole_code(self, flow: Flow) -> list[ast.stmt]: ...


class Flow:
    """Collects the code of one function and the objects that the linker must provide."""

    def __init__(
        self, name: str, scope: Scope, tables: Mapping[str, SqlTable], *, home: str = "",
        variables: Sequence[str], exports: bool, dialect: Dialect = SQLITE,
        is_durable: bool = False, actions: Mapping[str, OwnAction] | None = None,
    ) -> None:  # fmt: skip
        """Make an empty flow.

        Args:
            actions: the steps of the project's own addons, by their keys.
            home: the file of a function of its name, a key for values that clients keep.
            exports: the variables it sets are kept for the functions after it (middleware).
            is_durable: a job runs it, so it records each step that it reaches.
        """
        self.dialect, self.is_durable, self.actions = dialect, is_durable, actions or {}
        self.arrivals: dict[str, int] = {}
        self.name, self.tables, self.exports = name, tables, exports
        self.home = home or name
        self.variables = {variable: f"v_{variable}" for variable in variables}
        self.emitter = Emitter(scope, self)
        self.roots: set[str] = set()
        self.uses: dict[str, str] = {}
        self.constants: dict[str, tuple[str, tuple[Any, ...]]] = {}
        self.calls: dict[str, str] = {}
        self.starts: dict[str, str] = {}
        self.uses_now = False
        self.temporaries = 0
        self.replaced_roots: dict[str, ast.expr] = {}
        self.caught = ""
        """The name of the exception in a `catch`."""

    # ---- Names, for the emitter
    def root(self, name: str) -> ast.expr:
        """Return the code that reads a root such as `input`; `host` is the run's `Host`."""
        if name in self.replaced_roots:
            return self.replaced_roots[name]
        self.roots.add(name)
        return load(f"r_{name}")

    @contextmanager
    def instead(self, **roots: ast.expr) -> Iterator[None]:
        """Read these roots by other code in the block: `error`, a transaction's `host`."""
        before, self.replaced_roots = self.replaced_roots, {**self.replaced_roots, **roots}
        yield
        self.replaced_roots = before

    def variable(self, name: str) -> ast.expr:
        """Return the code that reads `vars.<name>`, set here or by middleware before."""
        if name in {"auth", "apiKey"}:
            return self.root("auth" if name == "auth" else "api_key")
        if name in self.variables:
            return load(self.variables[name])
        return self.expression(f"run.vars.get({name!r})")

    def now(self) -> ast.expr:
        """Return the code of `now()`: one value per step."""
        self.uses_now = True
        return load("now_")

    def row_code(self, name: str) -> ast.expr:
        """Return the code of a function that converts stored values."""
        return self.use(f"{self.dialect.rows}:{name}")

    def use(self, target: str) -> ast.expr:
        """Return the code of an object that the linker provides."""
        module, _, attribute = target.partition(":")
        name = f"{module.rpartition('.')[2]}__{attribute}"
        self.uses[name] = target
        return load(name)

    # ---- expressions
    def value(self, value: Value | None) -> ast.expr:
        """Return the code of a value; null for a missing one."""
        return ast.Constant(None) if value is None else self.emitter.value(value)

    def type_of(self, value: Expression) -> Type:
        """Return the type that the check found for an expression."""
        return self.emitter.scope.type_of(value.node)

    def html(self, value: Value, escape: str = "filter:escapeHtml") -> ast.expr:
        """Return the code of a value as HTML: the results of its expressions are escaped."""
        return self.emitter.html(value, escape)

    def condition(self, bare: Bare) -> ast.expr:
        """Return the code of a condition."""
        assert isinstance(bare, Expression)  # noqa: S101 - the check has tested it
        return self.emitter.condition(bare)

    def bare(self, bare: Bare) -> ast.expr:
        """Return the code of an expression without `${ }`."""
        return self.emitter.value(bare)

    # ---- statements
    def run(self, text: str, /, **holes: Hole) -> list[ast.stmt]:
        """Return Python text as statements, its holes filled."""
        filled = {
            name: self.use(hole) if isinstance(hole, str) else hole for name, hole in holes.items()
        }
        out: list[ast.stmt] = []
        for statement in _parsed(text):
            out += _statements(statement, filled)
        return out

    def expression(self, text: str, /, **holes: Hole) -> ast.expr:
        """Return Python text that is one expression."""
        (statement,) = self.run(text, **holes)
        assert isinstance(statement, ast.Expr)  # noqa: S101 - a text of a step's file
        return statement.value

    def store(self, variable: str | None, value: ast.expr) -> list[ast.stmt]:
        """Return the code that sets `vars.<variable>`, or only computes without a variable."""
        if variable is None:
            return [ast.Expr(value)]
        out: list[ast.stmt] = [ast.Assign([ast.Name(self.variables[variable], ast.Store())], value)]
        if self.exports:
            out += self.run(f"run.vars[{variable!r}] = {self.variables[variable]}")
        return out

    def compute(self, variable: str | None, text: str, /, **holes: Hole) -> list[ast.stmt]:
        """Return the code that sets `vars.<variable>` to a Python expression; as `store`."""
        return self.store(variable, self.expression(text, **holes))

    def block(self, steps: Sequence[Coded]) -> list[ast.stmt]:
        """Return the code of steps in order; each line number is the step's line in the YAML."""
        out: list[ast.stmt] = []
        for step in steps:
            out += self.step_code(step)
        return out

    def step_code(self, step: Coded) -> list[ast.stmt]:
        code = [*self.arrive(step), *self.at_one_time(lambda: step.whole_code(self))]
        return self.placed(code, step.mark)

    def placed(self, code: list[ast.stmt], at: Mark | None) -> list[ast.stmt]:
        """Return code with a step's line, except for the lines of steps inside it."""
        for node in (node for statement in code for node in ast.walk(statement)):
            if isinstance(node, ast.stmt | ast.expr | ast.arg) and not hasattr(node, "lineno"):
                node.lineno = node.end_lineno = _line_of(node) or (at.line if at else 1)
                node.col_offset = node.end_col_offset = 0
        return code

    def arrive(self, step: Coded) -> list[ast.stmt]:
        """Return the code by which a job records the step that it has reached, by file and line."""
        if not self.is_durable:
            return []
        place = f"{self.name}:{step.mark.line if step.mark else 0}"
        number = self.arrivals[place] = self.arrivals.get(place, 0) + 1
        name = place if number == 1 else f"{place}/{number}"
        return self.run(
            "enter(name)", enter="bbops.runtime.work.run_record:enter", name=ast.Constant(name)
        )

    def branch(self, name: str, steps: Sequence[Coded]) -> list[ast.stmt]:
        """Return the code of steps that run beside others."""
        if not self.is_durable:
            return self.block(steps)
        entered = self.run(
            "enter(name)", enter="bbops.runtime.work.run_record:enter_branch",
            name=ast.Constant(name),
        )  # fmt: skip
        return [*entered, *self.block(steps)]

    def at_one_time(self, make: Callable[[], list[ast.stmt]]) -> list[ast.stmt]:
        """Return code in which `now()` has one value."""
        around, self.uses_now = self.uses_now, False
        code = make()
        if self.uses_now:
            code = [*self.run("now_ = run.host.clock.now()"), *code]
        self.uses_now = around
        return code

    def apart(self, variables: Iterable[str], code: list[ast.stmt]) -> tuple[str, list[ast.stmt]]:
        """Return the name and the code of a function inside this one, which sets variables."""
        name = self.temporary()
        shared = ", ".join(dict.fromkeys(self.variables[variable] for variable in variables))
        head = f"    nonlocal {shared}\n" if shared else ""
        return name, self.run(f"async def {name}():\n{head}    BODY", BODY=code)

    def temporary(self) -> str:
        """Return an unused Python name."""
        self.temporaries += 1
        return f"t_{self.temporaries}"

    def in_time(self, length: float, code: list[ast.stmt], *, repeats: bool) -> list[ast.stmt]:
        """Return code with a time limit; with `repeats` a retry is safe at any point."""
        only = "" if repeats else ", repeats=False"
        return self.run(
            f"async with limit(length{only}):\n    BODY",
            limit="bbops.runtime.steps.blocks:TimeLimit", length=ast.Constant(length), BODY=code,
        )  # fmt: skip

    def repeated(
        self, most: int, backoff: float, factor: float, code: list[ast.stmt]
    ) -> list[ast.stmt]:
        """Return code that is retried, at most `most` times, after temporary failures."""
        tries, error = self.temporary(), self.temporary()
        return self.run(
            f"{tries} = attempts({most}, {backoff}, {factor})\n"
            "while True:\n    try:\n        BODY\n        break\n"
            f"    except failure as {error}:\n        await {tries}.wait(run, {error})",
            attempts="bbops.runtime.steps.blocks:Attempts",
            failure="bbops.runtime.values.failures:Failure",
            BODY=code,
        )

    def settled(self, variables: Iterable[str], code: list[ast.stmt]) -> list[ast.stmt]:
        """Return the code of a transaction that is retried after a conflict with another one.

        Args:
            variables: the variables that it sets; each attempt begins with their old values.
        """
        if not self.dialect.meets_others:
            return code
        tries, error, before = self.temporary(), self.temporary(), self.temporary()
        names = [self.variables[variable] for variable in dict.fromkeys(variables)]
        kept = f"({', '.join(names)},)" if names else "()"
        restored = f"\n        {kept} = {before}" if names else ""
        return self.run(
            f"{tries} = attempts(10, 0.004, 2.0)\n{before} = {kept}\n"
            "while True:\n    try:\n        BODY\n        break\n"
            f"    except conflict as {error}:\n        await {tries}.wait(run, {error}){restored}",
            attempts="bbops.runtime.steps.blocks:Attempts",
            conflict="bbops.runtime.values.failures:Conflict",
            BODY=code,
        )

    def tick(self) -> list[ast.stmt]:
        """Return the code that counts a loop round, and lets other requests run."""
        return self.run(
            "fuel[0] -= 1\nif not fuel[0] & 1023:\n    await breathe(fuel)",
            fuel=self.root("fuel"),
            breathe="bbops.runtime.flow.run:breathe",
        )

    def constant(self, factory: str, *arguments: Any) -> ast.expr:
        """Return the code of an object that the linker makes once: `factory(*arguments)`."""
        name = f"c_{len(self.constants) + 1}"
        self.constants[name] = (factory, arguments)
        return load(name)

    def callee(self, function: str, *, by_job: bool = False) -> ast.expr:
        """Return the code of another function of the project; `by_job`: a job runs it."""
        found = self.starts if by_job else self.calls
        name = f"{'j' if by_job else 'f'}_{len(found) + 1}"
        found[name] = function
        return load(name)

    # ---- queries
    def query(self, table: str, *, bare: bool = True, writes: bool = False) -> Query:
        """Return a Query whose parts without columns are emitted by this flow.

        Args:
            writes: the statement writes the rows, so it uses the table itself.
        """
        found = self.tables[table]
        inner = self.emitter.scope.inside(table, found.query_types(), bare=bare)
        query = BoundQuery(found, inner, Emitter(inner, self), bare=bare, flow=self)
        query.bare_alias = query.alias if writes else ""
        return query

    @contextmanager
    def seeing(self, tables: Mapping[str, SqlTable]) -> Iterator[None]:
        """Apply these rules of tables in the block."""
        before, self.tables = self.tables, tables
        yield
        self.tables = before

    def statement(self, query: Query, template: Template) -> tuple[list[ast.stmt], str, str]:
        """Return code that picks the SQL, and the names of the text and its parameters.

        Each table with rules is replaced by the rows that the caller may see.
        """
        return self.rendered(query, with_visible(query, template))

    def rendered(self, query: Query, template: Template) -> tuple[list[ast.stmt], str, str]:
        """Return code for a part of a statement, which has no tables of its own."""
        words = () if self.dialect is SQLITE else (self.dialect.words,)
        arguments = (template, len(query.switches), *words)
        statement = self.constant("bbops.runtime.data.statements:Statement", *arguments)
        sql, parameters = self.temporary(), self.temporary()
        code: list[ast.stmt] = [
            ast.Assign([ast.Name(f"s_{at}", ast.Store())], switch)
            for at, switch in enumerate(query.switches)
        ]
        switches = ast.Tuple([load(f"s_{at}") for at in range(len(query.switches))], ast.Load())
        given = ast.Tuple(query.parameters, ast.Load())
        if Statement(*arguments).is_fixed(len(query.parameters)):
            pick = f"{sql} = statement.sql\n{parameters} = given"
            return code + self.run(pick, statement=statement, given=given), sql, parameters
        code += self.run(
            f"{sql}, {parameters} = statement(switches, given)",
            statement=statement,
            switches=switches,
            given=given,
        )
        return code, sql, parameters

    def rows(self, columns: Iterable[SqlColumn], rows: ast.expr) -> ast.expr:
        """Return the code that turns tuples with these columns into rows."""
        over = ast.comprehension(ast.Name("r", ast.Store()), rows, [], 0)
        return ast.ListComp(self.row(columns), [over])

    def row(self, columns: Iterable[SqlColumn]) -> ast.expr:
        """Return the code that turns the tuple `r` into a row."""
        columns = tuple(columns)
        cells = [self.cell(at, column) for at, column in enumerate(columns)]
        return ast.Dict([ast.Constant(str(column.name)) for column in columns], cells)

    def cell(self, at: int, column: SqlColumn) -> ast.expr:
        return self.decoded(f"r[{at}]", column)

    def decoded(self, stored: str, column: SqlColumn, *, in_json: bool = False) -> ast.expr:
        """Return the code that decodes a stored value."""
        decoders = self.dialect.json_decoders if in_json else self.dialect.decoders
        if column.type not in decoders:
            return self.expression(stored)
        short = "" if column.nullable else self.dialect.inline_decoder(column.type)
        if short:
            return self.expression(short.format(stored), read=self.row_code("read_datetime"))
        return self.expression(f"decode({stored})", decode=self.row_code(decoders[column.type]))

    def is_static(self, value: Value | None) -> bool:
        """Return whether a value contains no expression."""
        return value is None or isinstance(value, Constant)


def _line_of(node: ast.AST) -> int | None:
    """Return the line of the value that a call tests: if it fails, the value is wrong."""
    arguments = node.args if isinstance(node, ast.Call) else ()
    return next((argument.lineno for argument in arguments if hasattr(argument, "lineno")), None)


@cache
def _parsed(text: str) -> tuple[ast.stmt, ...]:
    return tuple(ast.parse(f"async def _():\n {text.replace(chr(10), chr(10) + ' ')}").body[0].body)  # type: ignore[attr-defined]


def _statements(node: ast.stmt, holes: Mapping[str, ast.expr | list[ast.stmt]]) -> list[ast.stmt]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Name):
        body = holes.get(node.value.id)
        if isinstance(body, list):
            return body
    return [_filled(node, holes)]


def _filled(node: Any, holes: Mapping[str, ast.expr | list[ast.stmt]]) -> Any:
    """Return a copy of a parsed node without line numbers, its holes filled."""
    if isinstance(node, ast.Name) and node.id in holes:
        return holes[node.id]
    fields: dict[str, Any] = {}
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            fields[name] = [part for item in value for part in _many(item, holes)]
        else:
            fields[name] = _filled(value, holes) if isinstance(value, ast.AST) else value
    return type(node)(**fields)


def _many(item: Any, holes: Mapping[str, ast.expr | list[ast.stmt]]) -> list[Any]:
    if isinstance(item, ast.stmt):
        return list(_statements(item, holes))
    return [_filled(item, holes) if isinstance(item, ast.AST) else item]


Repeat = Literal["safe", "key", "no"]


@dataclass(frozen=True, slots=True)
class OwnAction:
    """One step of an addon of the project's own.

    Attributes:
        parameters: the types of the parameters; an optional one is `absent`.
        shape: the parameters as plain data, see `bbops.runtime.values.shapes`.
        gives: the type of the result; `spec` is its plain data.
        repeat: whether the step may be repeated: `safe`, `key` or `no`.
        seconds: the longest time for an answer.
    """

    title: str
    parameters: Mapping[str, Type]
    shape: Mapping[str, Any]
    gives: Type
    spec: Mapping[str, Any]
    repeat: Repeat
    seconds: float

    def may_lack(self, name: str) -> bool:
        """Return whether a parameter is optional."""
        spec = self.shape[name]
        return bool(spec["optional"]) or "default" in spec
