"""Mistakes that the checker does not see, each with the reason: the list only gets shorter."""

from __future__ import annotations

_ALSO_A_COLUMN = "what is read then is a column of the same name"
_EITHER = "'| default(20)' of a text is a text or a number: found when it runs"
_ONE_GROUP = "an aggregate without groups always gives a row, so '?.' was not needed"

KNOWN: dict[str, str] = {
    "drop a key saas/functions/admin/stats.yaml aggregate": _ALSO_A_COLUMN,
    "drop a key saas/functions/tickets/list.yaml limit?": _EITHER,
    "drop a null check saas/functions/admin/stats.yaml "
    "'?' in '${ vars.usage?.calls | default(0) }'": _ONE_GROUP,
    "drop a null check saas/functions/notifications/list.yaml "
    "'?' in '${ vars.totals?.unread | default(0) }'": _ONE_GROUP,
}
"""By what a mutant is called, without its line."""
