"""What the keys of endpoints of a table mean, in one sentence each."""

from __future__ import annotations

from typing import Final

CRUD: Final = {
    "Crud.table": "The table whose rows the routes are about.",
    "Crud.path": "The path of `list` and `create`; the others have the row's key behind it.",
    "Crud.select": "What every answer has, as in `find`; all columns but private ones by default.",
    "Crud.middleware": "Functions that run before every action, behind those of the channel.",
    "owner": "The column that holds the signed-in user; short for `match` with it.",
    "match": "Columns and what they equal in every row, as expressions without `${ }`.",
    "actions": "What the routes do; only what is named exists.",
    "Actions.list": "GET on the path: a page of rows, filtered and sorted by the query.",
    "Actions.get": "GET on the path and the key: the row, or 404.",
    "Actions.create": "POST on the path: 201 with the row.",
    "Actions.update": "PATCH on the path and the key: the row as it is now.",
    "Actions.delete": "DELETE on the path and the key: 204, or 404.",
    **{
        f"{action}.function": "A function of one's own in place of the one that would be made."
        for action in ("List", "Get", "Create", "Update", "Delete")
    },
    "List.filter": "Columns that a request may filter by, or a map of them to operators.",
    "sort": "Orders that a request may choose, in both directions; the first is the default.",
    "search": "Whether `?search=` finds words.",
    "List.limit": "How many rows a page has where the request does not say it.",
    "maxLimit": "How many rows a request may ask for.",
    "total": "Whether a request may ask `?total=true`.",
    "List.select": "What its answers have, in place of the `select` of the file.",
    "Get.select": "What its answers have, in place of the `select` of the file.",
    "Create.input": "The columns that a request gives, or a shape.",
    "Create.set": "Values that are not taken from the request as they are, by column.",
    "Update.input": "The columns that a request may change, or a shape.",
    "Update.set": "Values that are set beside them, by column.",
}
