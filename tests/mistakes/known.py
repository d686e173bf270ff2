"""Mistakes that the checker does not see, each with the reason: the list only gets shorter."""

from __future__ import annotations

_EMPTY = "the key above it is left empty, which is the same as leaving it out; told at its readers"
_ALSO_A_COLUMN = "what is read then is a column of the same name"
_CONVERTED = "its readers convert it with '| toNumber', so an undeclared one does as well"
_ONE_GROUP = "an aggregate without groups always gives a row, so '?.' was not needed"
_TO_COME = "the function that reads it holds a key of queries to come, so it is not checked"

KNOWN: dict[str, str] = {
    "misspell a name blog/tasks/purge-drafts.yaml UTC -> UCT in 'UTC'": "'UCT' is a time zone too",
    "drop a key saas/functions/admin/list-users.yaml query": _CONVERTED,
    "drop a key saas/functions/admin/list-users.yaml limit?": _CONVERTED,
    "drop a key saas/functions/admin/list-users.yaml offset?": _CONVERTED,
    "drop a key saas/functions/admin/stats.yaml aggregate": _ALSO_A_COLUMN,
    "drop a key saas/functions/admin/stats.yaml values": _ALSO_A_COLUMN,
    "drop a key saas/functions/notifications/list.yaml values": _EMPTY,
    "drop a key saas/functions/reports/build.yaml values": _EMPTY,
    "drop a null check saas/functions/admin/stats.yaml "
    "'?' in '${ vars.usage?.calls | default(0) }'": _ONE_GROUP,
    "drop a null check saas/functions/notifications/list.yaml "
    "'?' in '${ vars.totals?.unread | default(0) }'": _ONE_GROUP,
    "misspell a name saas/endpoints/tickets/get.yaml id -> idd in '/tickets/:id'": _TO_COME,
    "drop a key saas/tables/ticket_comments.yaml reverse": _TO_COME,
}
"""By what a mutant is called, without its line."""
