"""The types of `env`, `vars.auth` and `vars.apiKey`, which all functions of a project share."""

from __future__ import annotations

from dataclasses import replace

from bbops.language.expressions.types import ANY, SECRET, TEXT, Type, map_of
from bbops.language.project import Project


def env_type(project: Project) -> Type:
    """Return the type of `env`."""
    fields: dict[str, Type] = {}
    for name, variable in project.settings.model.env.items():
        of = replace(TEXT, private=True, what=SECRET) if variable.secret else TEXT
        given = variable.required or variable.default is not None or variable.generate
        fields[name] = of if given else of.or_null()
    return map_of(fields, "env")


def auth_type(project: Project) -> Type:
    """Return the type of `vars.auth`, wherever there is one."""
    user = TEXT
    auth = project.settings.model.auth
    table = project.sql_tables.get(auth.users or "") if auth else None
    if table is not None and len(table.key) == 1:
        # another issuer may write its ids in another form
        user = replace(table.columns[table.key[0]].value_type, form="")
    fields = {"userId": user, "email": TEXT.or_null(), "role": TEXT.or_null(), "claims": ANY}
    return map_of(fields, "vars.auth")


def api_key_type() -> Type:
    """Return the type of `vars.apiKey`, wherever there is one."""
    return map_of({"id": TEXT, "name": TEXT, "claims": ANY}, "vars.apiKey")
