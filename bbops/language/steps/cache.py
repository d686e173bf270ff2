"""cache: keep a value for a time, so that its steps need not run each time."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from bbops.base.model import Model
from bbops.base.names import Duration
from bbops.language.expressions.narrow import path_of, spelt
from bbops.language.expressions.nodes import Node
from bbops.language.expressions.scope import SIGNED_IN, Scope, Watch
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Constant, ValueField
from bbops.language.steps._base import Checking, Example, Step, Steps, refuse_return, variables
from bbops.language.steps._flow import Flow
from bbops.language.steps._ruled import CACHED
from bbops.runtime.values.units import seconds


class CacheParameters(Model):
    """The key, the time its value is kept, and the steps that make it."""

    key: ValueField
    for_: Duration = Field(alias="for")
    steps: Steps | None = None
    value: ValueField


class Cache(Step):
    """Give the value kept under the key; where none is, run the steps and keep `value`.

    - Each process keeps its own, at most 1,000 keys, until the next release.
    - Many requests at once wait for one of them. A hit runs no steps.
    - `forget` has it made again.
    """

    title: ClassVar[str] = "Cache"
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Count once a minute",
            "- cache:\n"
            "    key: notes/count\n"
            "    for: 1m\n"
            "    steps:\n"
            "      - find: { table: notes }\n"
            "        as: notes\n"
            "    value: ${ vars.notes | length }\n"
            "  as: count\n"
            "- return: { value: '${ vars.count }' }",
            value=3,
        ),
    )

    cache: CacheParameters

    def check(self, at: Checking) -> Type:
        given = self.cache
        at.need(given.key, "text number boolean", "'key'", self.place("key"))
        refuse_return(at, given.steps or (), "'cache'")
        before = at.scope.known
        at.scope.known = before.copy()
        watch, read = at.scope.watch, list[str]()
        at.scope.watch = _noting(read, watch)
        with at.within(CACHED):
            at.steps(given.steps or ())
        of = at.value(given.value)
        at.scope.watch = watch
        self.check_key(at, read)
        why = f"the 'cache' on line {at.line} runs its steps only when nothing is cached"
        at.rejoin(("", before), (why, at.scope.known))
        return of

    def check_key(self, at: Checking, read: Sequence[str]) -> None:
        """Warn of a value that is kept for all requests, but made from one of them."""
        if read and isinstance(self.cache.key, Constant):
            at.report(
                self.place("key"), "constant-key",
                f"all requests share this cached value, which depends on '{read[0]}'",
                f"add it to the key: '{self.cache.key.value}/${{ {read[0]} }}'",
            )  # fmt: skip

    def blocks(self) -> Sequence[Sequence[Step]]:
        return (self.cache.steps or (),)

    def code(self, flow: Flow) -> list[ast.stmt]:
        given = self.cache
        body = flow.block(given.steps or ())
        body += flow.at_one_time(lambda: flow.run("return value", value=flow.value(given.value)))
        make, code = flow.apart(variables(given.steps or ()), body)
        return code + flow.compute(
            self.as_,
            f"await cached(run, key, step, {seconds(given.for_)}, {make})",
            cached="bbops.runtime.flow.caching:cached",
            key=flow.value(given.key),
            step=ast.Constant(f"{flow.name}:{self.mark.line if self.mark else 1}"),
        )


_OF_REQUEST = frozenset({"params", "query", "input", "headers", "request"})


def _noting(read: list[str], watch: Watch | None) -> Watch:
    """Return a watch that notes the request values that expressions read, and calls `watch` too."""

    def note(node: Node, scope: Scope) -> None:
        path = path_of(node, scope) or ()
        is_signed_in = path[:1] == ("vars",) and len(path) > 2 and path[1] in SIGNED_IN
        if path == ("vars", "auth") and "auth" in scope.roots and scope.roots["auth"].nullable:
            is_signed_in = True  # the caller, or null
        if (path[:1] and path[0] in _OF_REQUEST and len(path) > 1) or is_signed_in:
            read.append(spelt(path, scope))
        if watch is not None:
            watch(node, scope)

    return note
