"""New resources of any kind, and the file of a table's routes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from bbops.base.diagnostics import suggest, suggest_resource
from bbops.base.errors import BbopsError
from bbops.base.registry import file_name as snake
from bbops.compiler.check import validate
from bbops.edit.authoring.changing import Change, ChangedTree, set_key
from bbops.edit.authoring.formatting import format_file, write_file
from bbops.edit.authoring.naming import Name
from bbops.language.addons._base import kind as addon_kind
from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.loading.load import kinds
from bbops.language.project import Project
from bbops.language.resources._crud import MOST_FILTERS, RESERVED
from bbops.language.resources.table import Column, Table
from bbops.source.yaml.nodes import Map

_SECRET = re.compile(r"\$\{ *env\.([A-Z0-9_]+) *\}")
_WORDS = re.compile(r"[-_/]")
_ID = "00000000-0000-4000-8000-000000000001"


def make(change: Change, name: Name) -> None:
    """Add a resource; one that needs a function gets one of the same name, unless it is there.

    Raises:
        BbopsError: there is one of that name, or it needs something that is not there.
    """
    if change.exists(name):
        raise BbopsError(f"there is a '{name.file}' already", hint="'bbops set' changes it")
    change.files[name.file] = _MAKERS.get(name.folder, _fill)(change, name).encode()


def _endpoint(change: Change, name: Name) -> str:
    function = Name("functions", name.name)
    is_there = change.exists(function)
    named = f"function: {function.name}\n" if is_there else ""
    steps = "" if is_there else "\nsteps:\n  - return:\n      value: { ok: true }\n"
    return (
        f"method: GET\npath: /{name.name}\n{named}authentication: {_authentication(change)}\n"
        f"description: {_sentence(name)}\n{steps}"
    )


def _channel(change: Change, name: Name) -> str:
    version = re.fullmatch(r"(.+)-(v[0-9]+)", name.name)
    path = "/".join(version.groups()) if version else name.name
    return (
        f"name: {_words(name)}\nbasePath: /{path}\nauthentication: {_authentication(change)}\n"
        "rateLimit: 300\n"
    )


def _trigger(change: Change, name: Name) -> str:
    entity, _, action = name.name.partition("-")
    event = f"{entity}.{action if action[:1].isalpha() else 'created'}"
    function = _need_function(change, name, _LOGS)
    return f"description: {_sentence(name)}\nevent: {event}\nfunction: {function}\n"


def _webhook(change: Change, name: Name) -> str:
    secret = f"{_WORDS.sub('_', name.name).upper()}_SECRET"
    if secret not in (change.document("project.yaml").root.get("env") or {}):
        set_key(change, Name("", "project"), f"env.{secret}", "{ secret: true }")
    return (
        f"description: {_sentence(name)}\nreceivers:\n"
        f"  - url: https://{name.name}.example.com/webhooks\n    secret: ${{ env.{secret} }}\n"
        "events:\n  item.changed: { id: string }\n"
    )


def _agent(change: Change, name: Name) -> str:
    addons = [one.name for one in change.names() if one.folder == "addons"]
    addon = next((one for one in addons if one in {"chatModel", "aiModel"}), None)
    if addon is None:
        hint = "create one with 'bbops new addon chatModel'"
        raise BbopsError("an agent needs the addon chatModel or aiModel", hint=hint)
    return (
        f"description: {_sentence(name)}\nmodel: {{ addon: {addon}, name: name-of-a-model }}\n"
        "instructions: Say what the agent is for.\ntools: []\nrunsOn:\n"
        f"  chat: {{ authentication: {_authentication(change)} }}\n"
    )


def _addon(change: Change, name: Name) -> str:
    owner, slash, _ = name.name.partition("/")
    if slash:
        return _own_step(change, owner)
    found = addon_kind(name.name)
    if found is None:
        return _own_addon(change, name.name)
    _declare(change, found.config_example)
    config = "".join(f"  {line}\n" for line in found.config_example.splitlines())
    return "enabled: true\n" + (f"config:\n{config}" if config else "")


def _own_addon(change: Change, name: str) -> str:
    """Return an addon of the project's own; one with the name of a misspelt one is refused."""
    if near := suggest(name, addon_kinds()):
        raise BbopsError(f"there is no addon '{name}'", hint=near)
    variable = f"{snake(name)}_TOKEN".upper()
    config = f"token: ${{ env.{variable} }}"
    _declare(change, config)
    return (
        f"enabled: true\nserver: https://api.example.com\nauth: {{ bearer: token }}\n"
        f"config:\n  {config}\n"
    )


def _own_step(change: Change, addon: str) -> str:
    if addon_kind(addon) is not None or not change.exists(Name("addons", addon)):
        hint = f"create it with 'bbops new addon {addon}'" if addon_kind(addon) is None else ""
        what = "is one of the catalog" if addon_kind(addon) else "does not exist"
        raise BbopsError(f"addon '{addon}' {what}, so it takes no steps", hint=hint)
    if change.document(f"addons/{addon}.yaml").root.get("mcp"):
        hint = f"'bbops addon add' reads it from the server: --name {addon} STEP=TOOL"
        raise BbopsError(f"addon '{addon}' is an MCP server, whose tools have digests", hint=hint)
    return (
        "request: { method: GET, path: '/items/{id}' }\nparameters: { id: string }\n"
        "gives: { id: string, name: string? }\n"
    )


def _declare(change: Change, config: str) -> None:
    """Declare the secrets that a `config` names."""
    declared = change.document("project.yaml").root.get("env") or {}
    for variable in _SECRET.findall(config):
        if variable not in declared:
            set_key(change, Name("", "project"), f"env.{variable}", "{ secret: true }")


def _test(change: Change, name: Name) -> str:
    endpoint, function = Name("endpoints", name.name), Name("functions", name.name)
    if change.exists(endpoint):
        return _endpoint_test(change, endpoint)
    if change.exists(function):
        return (
            f"function: {name.name}\n\ncases:\n  - name: it works\n    input: {{}}\n"
            "    expect:\n      status: 200\n"
        )
    agent = Name("agents", name.name)
    if change.exists(agent):
        return _agent_test(change, agent)
    raise BbopsError(
        f"there is no endpoint, function or agent '{name.name}' to test",
        hint="a test is named after what it tests",
    )


def _endpoint_test(change: Change, endpoint: Name) -> str:
    root = change.document(endpoint.file).root
    channel = Name("channels", str(root.get("channel", "")))
    shared = change.document(channel.file).root if change.exists(channel) else Map()
    path = f"{shared.get('basePath', '')}{root.get('path', '')}"
    authentication = root.get("authentication") or shared.get("authentication")
    lines = [f"endpoint: {endpoint.name}", "", "cases:", "  - name: it works"]
    if authentication in {"JWT", "Optional"}:
        lines.append(f"    auth: {{ userId: {_ID} }}")
    parameters = [part[1:] for part in path.split("/") if part.startswith(":")]
    if parameters:
        listed = ", ".join(f"{one}: {_ID}" for one in parameters)
        lines.append(f"    params: {{ {listed} }}")
    return "\n".join([*lines, "    expect:", "      status: 200", ""])


def _agent_test(change: Change, agent: Name) -> str:
    """Return a test with one answer of the model, and with the start of the agent.

    Raises:
        BbopsError: the agent has no start that a test can give.
    """
    root = change.document(agent.file).root
    starts = root.get("runsOn")
    starts = starts if isinstance(starts, Map) else Map()
    lines = [f"agent: {agent.name}", "", "cases:", "  - name: it answers"]
    chat = starts.get("chat")
    if isinstance(chat, Map):
        if chat.get("authentication") == "JWT":
            lines.append(f"    auth: {{ userId: {_ID} }}")
        lines.append("    input: { message: Hello }")
    elif "schedule" not in starts:
        if not starts.keys() & {"event", "webhook", "realtime"}:
            raise BbopsError(
                f"a test cannot start agent '{agent.name}', which runs on rows of a table",
                hint="give it another start, such as 'event', and test that",
            )
        lines.append("    event: { payload: {} }")
    if "output" in root:
        lines += ["    model: [{ tool: answer, args: {} }]", "    expect: {}", ""]
    else:
        lines += ["    model: [{ say: Hi }]", "    expect:", "      value: { answer: Hi }", ""]
    return "\n".join(lines)


_LOGS = "steps:\n  - log:\n      message: It ran\n"
_MAKERS: dict[str, Callable[[Change, Name], str]] = {
    "endpoints": _endpoint, "channels": _channel, "triggers": _trigger, "webhooks": _webhook,
    "agents": _agent,
    "addons": _addon, "tests": _test,
}  # fmt: skip
"""Of kinds whose skeleton depends on what else the project has."""


def _fill(change: Change, name: Name) -> str:
    """Return the skeleton of a kind."""
    text = kinds()[name.folder].skeleton
    if "{function}" in text:
        text = text.replace("{function}", _need_function(change, name, _LOGS))
    if "{authentication}" in text:
        text = text.replace("{authentication}", _authentication(change))
    words = {"{name}": name.name, "{words}": _words(name), "{sentence}": _sentence(name)}
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text


def _need_function(change: Change, name: Name, steps: str) -> str:
    """Return the function of the same name, made if it is not there."""
    function = Name("functions", name.name)
    if not change.exists(function):
        change.files[function.file] = f"description: {_sentence(name)}\n\n{steps}".encode()
    return function.name


def _authentication(change: Change) -> str:
    return "JWT" if change.document("project.yaml").root.get("auth") else "None"


def _words(name: Name) -> str:
    return " ".join(_WORDS.split(name.name)).capitalize()


def _sentence(name: Name) -> str:
    return f"{_words(name)}."


# ---- Make the file of a table's routes, with every list written out to choose from

_CHOSEN: Final = frozenset({"boolean", "integer", "bigint", "datetime", "date", "uuid"})
"""Types that requests usually filter by; of texts those with an `enum`."""
_OWNERS: Final = ("user_id", "owner_id", "author_id", "created_by")


def make_crud(change: Change, table: str) -> None:
    """Add the routes of a table.

    Raises:
        BbopsError: there is no such table, or its file of endpoints is there already.
    """
    project, found = validate(ChangedTree(change.folder.tree, change.files))
    if project is None:
        wrong = next(one for one in found if one.severity == "error")
        raise BbopsError("the project has errors", hint=f"first correct {wrong.place}")
    if table not in project.tables:
        hint = suggest_resource(table, "tables", project.tables)
        raise BbopsError(f"there is no table '{table}'", hint=hint)
    name = Name("endpoints", table.replace("_", "-"))
    if change.exists(name):
        raise BbopsError(f"there is a '{name.file}' already", hint="'bbops set' changes it")
    text = write_file(_body(project, table, name.name)).encode()
    change.files[name.file] = format_file(name.file, text).text.encode()


def _body(project: Project, name: str, path: str) -> dict[str, object]:
    table = project.tables[name].model
    auth = project.settings.model.auth
    users = auth.users if auth is not None else None
    owner = next((one for one in _OWNERS if _leads_to(table.columns.get(one), users)), None)
    given = [one for one in table.columns if one != owner and table.columns[one].auto is None]
    shown = [one for one, column in table.columns.items() if not column.private]
    orders = [f"{one}.desc" for one in shown if table.columns[one].auto == "created"]
    changed = [one for one in given if one in shown and one not in table.key]
    given = [one for one in given if one in shown or table.columns[one].default is None]
    return {
        "table": name, "path": f"/{path}",
        "authentication": "None" if auth is None else "JWT",
        **({"owner": owner} if owner is not None and auth is not None else {}),
        "description": f"{name.replace('_', ' ').capitalize()}.",
        "select": shown,
        "actions": {
            "list": {
                "filter": _filters(table, shown, owner), "sort": [*orders, *table.key],
                "limit": 20, "maxLimit": 100,
            },
            "get": {},
            "create": {"input": given} if given else {},
            **({"update": {"input": changed}} if changed else {}),
            "delete": {},
        },
    }  # fmt: skip


def _leads_to(column: Column | None, users: str | None) -> bool:
    to = (column.references or "").partition(".")[0] if column is not None else ""
    return bool(to) and to == users


def _filters(table: Table, shown: list[str], owner: str | None) -> list[str]:
    found = [
        one for one in shown
        if (table.columns[one].type in _CHOSEN or table.columns[one].enum) and one != owner
        and one not in table.key and one not in RESERVED
    ]  # fmt: skip
    return found[:MOST_FILTERS]
