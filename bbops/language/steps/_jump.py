"""The shared part of `break` and `continue`: they end a round of the loop around them."""

from __future__ import annotations

from bbops.language.expressions.nodes import Literal
from bbops.language.expressions.values import Bare, Constant, Expression
from bbops.language.steps._checking import Checking
from bbops.language.steps._notes import Round
from bbops.source.yaml.document import Mark


def always(condition: Bare) -> bool:
    """Return whether a condition is the constant `true`."""
    if isinstance(condition, Expression):
        return isinstance(condition.node, Literal) and condition.node.value is True
    return isinstance(condition, Constant) and condition.value is True


def check_jump(at: Checking, key: str, condition: Bare, place: Mark | None) -> Round | None:
    """Check the condition; return the loop whose round the step ends, or report a missing loop.

    The facts of the condition hold at the jump, and their opposite in the steps after it.
    """
    yes, no = at.condition(condition, place)
    around = at.notes.around[-1] if at.notes.around else None
    if not isinstance(around, Round):
        message = f"'{key}' stands in no loop" if around is None else (
            f"'{key}' cannot leave {around}"
        )  # fmt: skip
        at.report(None, "no-loop", message, "set a variable there, and leave the loop behind it"
                  if around else "")  # fmt: skip
        return None
    list_ = around.broken if key == "break" else around.skipped
    list_.append(at.scope.known.copy(yes))
    at.scope.known = at.scope.known.copy(no)
    if always(condition):
        at.ends()
    return around
