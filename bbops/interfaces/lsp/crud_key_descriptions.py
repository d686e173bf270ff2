"""Descriptions of the keys of endpoints for a table, a sentence each."""

from __future__ import annotations

from typing import Final

CRUD_KEYS: Final = {
    "Crud.table": "The table whose rows the routes are about.",
    "Crud.path": "The path of `list` and `create`; the other paths end with the row's key.",
    "Crud.select": "The columns of each response, as in `find`; by default all but private ones.",
    "Crud.middleware": "Functions that run before every action, after the channel's middleware.",
    "owner": "The column that holds the signed-in user's id; short for `match` with it.",
    "match": "Columns and their values in every row, as expressions without `${ }`.",
    "actions": "The routes; only the named actions exist.",
    "Actions.list": "GET on the path: a page of rows, filtered and sorted by the query.",
    "Actions.get": "GET on the path and the key: the row, or 404.",
    "Actions.create": "POST on the path: 201 with the row.",
    "Actions.update": "PATCH on the path and the key: the updated row.",
    "Actions.delete": "DELETE on the path and the key: 204, or 404.",
    **{
        f"{action}.function": "A function to run instead of the generated one."
        for action in ("List", "Get", "Create", "Update", "Delete")
    },
    "List.filter": "Columns by which requests can filter, or a map of them to operators.",
    "sort": "Orders that a request can choose, in both directions; the first is the default.",
    "search": "Whether `?search=` finds words.",
    "List.limit": "How many rows a page has by default.",
    "maxLimit": "The most rows that a request can ask for.",
    "total": "Whether requests can use `?total=true`.",
    "List.select": "The columns of its responses, instead of the `select` of the file.",
    "Get.select": "The columns of its responses, instead of the `select` of the file.",
    "Create.input": "The columns that a request sets, or a shape.",
    "Create.set": "Values that the server sets, by column.",
    "Update.input": "The columns that a request can change, or a shape.",
    "Update.set": "Values that the server also sets, by column.",
}
