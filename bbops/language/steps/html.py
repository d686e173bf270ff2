"""html: make HTML in which text from outside stays text."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import ClassVar

from bbops.language.expressions.types import HTML, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class Html(Step):
    """Give HTML: every `${ }` is escaped, except what a step `html` made, and `join` of such.

    - `return` with `contentType: text/html` escapes likewise, so text from outside never becomes
      markup.
    - HTML mixed with other text, or given to another function as `input`, is text again.
    """

    title: ClassVar[str] = "HTML"
    waits: ClassVar[bool] = False
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "A list of what visitors wrote",
            "- loop:\n"
            "    over: (['<i>', 'b'])\n"
            "    each: text\n"
            "    steps: [{ html: '<li>${ vars.text }</li>', as: item }]\n"
            "    collect: ${ vars.item }\n"
            "  as: items\n"
            "- html: <ul>${ vars.items | join('') }</ul>\n"
            "  as: page\n"
            "- return: { value: '${ vars.page }' }",
            value="<ul><li>&lt;i&gt;</li><li>b</li></ul>",
        ),
    )

    html: ValueField

    def check(self, at: Checking) -> Type:
        kinds = "text number boolean datetime date"
        found = at.need(self.html, kinds, "HTML", self.place("html"))
        return replace(HTML, private=found.hides)

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.store(self.as_, flow.html(self.html))
