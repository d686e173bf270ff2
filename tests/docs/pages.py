"""Make the pages of docs/language from the models that the editor's schemas come from."""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path
from textwrap import indent

from pydantic import BaseModel

from bbops.interfaces.lsp.hover import is_run
from bbops.interfaces.lsp.schema import field_schema, fields
from bbops.language.addons._base import AddonAction, AddonKind, Parameter
from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.expressions.types import Type
from bbops.language.loading.load import kinds
from bbops.language.resources._crud import Crud
from bbops.language.shape import TYPES, Field
from bbops.language.steps._base import Example, Retry, Step, step_kinds
from bbops.runtime.vendors import find_steps
from tests.conftest import NOTES, ROOT
from tests.docs.examples import block, files_of, function_of, shown
from tests.docs.keys import has_later, key_table, sections
from tests.docs.reference import reference_pages

FOLDER = ROOT / "docs/language"
_MADE = "<!-- made by `python -m tests.docs` from the models of the language -->"
_ORDER = ("project", "table", "function", "endpoint", "channel", "test")
"""The kinds that a newcomer meets first."""
_LATER = (
    "° is checked; this version does not run it yet, and says so where a change adds it "
    "([not-supported]({root}errors/keys.md#not-supported))."
)


def pages() -> dict[str, str]:
    """Return every page by its path below docs/language."""
    found = {"README.md": kind_index(), "steps/README.md": step_index()}
    found |= reference_pages()
    found["addons/README.md"] = addon_index()
    for folder, model in kinds().items():
        found[f"{name_of(model)}.md"] = kind_page(folder, model)
    found["crud.md"] = crud_page()
    for key, kind in step_kinds().items():
        found[f"steps/{key}.md"] = step_page(key, kind)
    for name, addon in addon_kinds().items():
        found[f"addons/{name}.md"] = addon_page(name, addon)
    return {
        path: f"{_MADE}\n\n{text.rstrip()}\n".replace("{root}", "../" * (path.count("/") + 1))
        for path, text in found.items()
    }


def name_of(model: type[BaseModel]) -> str:
    """Return the name of a kind, such as `endpoint`."""
    return model.__name__.lower()


def summary(model: type[BaseModel]) -> str:
    """Return the first sentence that a model says of itself."""
    return cleandoc(model.__doc__ or "").partition("\n")[0]


def rules(model: type[BaseModel]) -> str:
    """Return what a model says of itself behind the first sentence."""
    return cleandoc(model.__doc__ or "").partition("\n")[2].strip()


def page(title: str, *parts: str) -> str:
    """Return a page; empty parts are left out."""
    text = "\n\n".join(part for part in (f"# {title}", *parts) if part)
    return f"{text}\n\n{_LATER}" if has_later(text) else text


def mark(model: type[BaseModel]) -> str:
    """Return the mark of a kind or step that this version does nothing with; else nothing."""
    return "" if is_run(model) else " °"


def addon_mark(name: str, action: str = "") -> str:
    """Return the mark of an addon of which this version does no step, or not this one."""
    steps = find_steps(name)
    return "" if (action in steps if action else steps) else " °"


# ---- kinds
def kind_page(folder: str, model: type[BaseModel]) -> str:
    """Return the page of a kind of resource."""
    (first, text), *others = [one for one in files_of(folder) if "\nactions:" not in one[1]]
    return page(
        name_of(model) + mark(model),
        summary(model),
        block(first, text),
        f"## Rules\n\n{rules(model)}",
        f"## Keys\n\n{key_table(model)}",
        *sections(model),
        "## More examples" if others else "",
        *(block(path, text) for path, text in others),
    )


def crud_page() -> str:
    """Return the page of endpoints of a table."""
    requests, _, by_hand = (Path(__file__).parent / "crud.md").read_text().partition("\n---\n")
    (path, text), *_ = [one for one in files_of("endpoints") if "\nactions:" in one[1]]
    return page(
        "crud", summary(Crud), block(path, text), requests,
        f"## Rules\n\n{rules(Crud)}", f"## Keys\n\n{key_table(Crud)}", *sections(Crud), by_hand,
    )  # fmt: skip


def kind_index() -> str:
    """Return the page that lists the kinds, and says how shapes are written."""
    rows = ["| kind | where | what it is |", "| --- | --- | --- |"]
    met = {name: at for at, name in enumerate(_ORDER)}
    every = sorted(kinds().items(), key=lambda one: met.get(name_of(one[1]), len(met)))
    for folder, model in every:
        where = f"`{folder}/`" if folder else "`project.yaml`"
        name = name_of(model)
        rows.append(f"| [{name}]({name}.md){mark(model)} | {where} | {summary(model)} |")
    return page(
        "The language, key by key",
        "[The overview](../language.md) says how it fits together. These pages list every key, and "
        "show it in use.",
        "\n".join(rows),
        "[Steps](steps/README.md) are what functions are made of; [addons](addons/README.md) bring "
        "steps for services of others. Values have [types](types.md); expressions have "
        "[operators](operators.md), [filters](filters.md) and [functions](functions.md). "
        "`bbops explain` shows each of them by its name.",
        "The YAML of the kinds' pages is one project, [docs/example](../example), which "
        "validates and passes its tests; that of kinds with ° lies on top of it, in "
        "[docs/upcoming](../upcoming):",
        "```console\n$ bbops test --path docs/example\n…\n9 passed in …\n```",
        "A key is the camelCase of the field's name in the specification: `basePath` is its *base "
        "path*. Options keep its spelling: `None`, `JWT`, `API Key`.",
        "## Shapes",
        "`input`, `query`, `params`, `payload` and events are shapes: fields by name. `name: type` "
        "must be there, `name?: type` may be left out and then reads as null, `type?` may be null, "
        "`type[]` is a list. "
        f"The types: {', '.join(f'[{one}](types.md#{one})' for one in TYPES)}. "
        "A field that needs more is written as a map:",
        key_table(Field),
    )


# ---- steps
def step_page(key: str, kind: type[Step]) -> str:
    """Return the page of a step."""
    own = {name: field for name, field in fields(kind).items() if name not in fields(Step)}
    inner = field_schema(kind, key).model
    others = {name: field for name, field in own.items() if name != key}
    table = key_table(inner) if inner else key_table(kind, keys=own)
    beside = key_table(kind, keys=others) if inner and others else ""
    return page(
        key + mark(kind),
        f"**{kind.title}.** {summary(kind)}",
        *(example_text(example) for example in kind.examples),
        f"## Rules\n\n{rules(kind)}",
        f"## Keys\n\n{table}",
        f"Beside it stand:\n\n{beside}" if beside else "",
        *(sections(inner) if inner else ()),
        "[Beside every action](README.md#beside-every-action) may stand "
        + ("`as`, `name`, `timeout` and `retry`." if kind.waits else "`as` and `name`."),
    )


def example_text(example: Example) -> str:
    """Return an example with what it is asked, and what it answers."""
    asked = f" with `{shown(example.input)}`" if example.input else ""
    answer = f"\n\n```json\n{shown(example.value)}\n```" if example.value is not None else ""
    told = f"`POST /run`{asked} answers {example.status}{':' if answer else '.'}{answer}"
    if example.is_job:
        told = f"A job that runs it returns:{answer}"
    path = "functions/job.yaml" if example.is_job else "functions/run.yaml"
    shown_file = block(path, function_of(example))
    return f"## {example.title}\n\n{shown_file}\n\n{told}"


def step_index() -> str:
    """Return the page that lists the steps, and what stands beside every action."""
    rows = ["| step | name | what it does |", "| --- | --- | --- |"]
    for key, kind in step_kinds().items():
        rows.append(f"| [{key}]({key}.md){mark(kind)} | {kind.title} | {summary(kind)} |")
    return page(
        "Steps",
        "A step is a map with one action key. *Name* is what the palette of the specification "
        "calls it. Steps of addons are listed with [the addons](../addons/README.md).",
        "\n".join(rows),
        "## Beside every action",
        key_table(Step),
        f"### `retry`\n\n{cleandoc(Retry.__doc__ or '')}\n\n{key_table(Retry)}",
        "`return`, `throw` and `set` have neither `timeout` nor `retry`; a step with steps inside "
        "has no `retry`. A step is tried again only while it fails with what may pass: late, 408, "
        "425, 429, 502, 503, 504. Each wait is `factor` times the one before.",
        "## The table of the examples",
        block("tables/notes.yaml", NOTES.lstrip()),
    )


# ---- addons
def addon_page(name: str, addon: AddonKind) -> str:
    """Return the page of an addon."""
    config = f"config:\n{indent(addon.config_example, '  ')}\n" if addon.config_example else ""
    has_keys = bool(fields(addon.config))
    return page(
        name + addon_mark(name),
        f"**{addon.title}{f': {addon.service}' if addon.service else ''}.** {addon.about}",
        block(f"addons/{name}.yaml", f"enabled: true\n{config}"),
        f"## `config`\n\n{summary(addon.config)}\n\n{key_table(addon.config)}" if has_keys else "",
        *(
            action_text(f"{name}.{key}", action, addon_mark(name, key))
            for key, action in addon.actions.items()
        ),
    )


def action_text(key: str, action: AddonAction, mark: str) -> str:
    """Return the section of one step of an addon."""
    rows = ["| parameter | takes | |", "| --- | --- | --- |"]
    rows += [f"| `{one.name}` | {taken(one)} | {words(one)} |" for one in action.parameters]
    either = " or ".join(f"`{one}`" for one in action.one_of)
    return "\n\n".join(filter(None, [
        f"## {key}{mark}",
        f"**{action.title}.** {action.summary} Gives {given(action.gives)}.",
        block("functions/run.yaml", f"steps:\n{indent(action.example, '  ')}"),
        "\n".join(rows).replace("|  |", "| |"),
        f"At least one of {either} is needed." if either else "",
    ]))  # fmt: skip


def given(of: Type) -> str:
    """Return what a step gives: the kind of value, with the names of a map's fields."""
    whole = of.item if of.kind == "list" and of.item is not None else of
    names = f" with {', '.join(f'`{name}`' for name in whole.fields)}" if whole.fields else ""
    kind = {"any": "any value", "null": "null"}.get(of.kind, f"a {of.kind}")
    return f"{kind}{' of maps' if whole is not of and names else ''}{names}"


def taken(parameter: Parameter) -> str:
    """Return what a parameter takes."""
    text = ", ".join(f"`{one}`" for one in parameter.options)
    text = text or parameter.takes.replace("any", "any value").replace(" ", " or ")
    if parameter.limits:
        text += f" from {parameter.limits[0]:,g} to {parameter.limits[1]:,g}"
    return f"{text}, **needed**" if parameter.required else text


def words(parameter: Parameter) -> str:
    """Return what a parameter means."""
    return parameter.description.replace("|", "\\|")


def addon_index() -> str:
    """Return the page that lists the addons."""
    rows = ["| addon | name | service | steps |", "| --- | --- | --- | --- |"]
    for name, addon in addon_kinds().items():
        steps = ", ".join(f"`{name}.{key}`{addon_mark(name, key)}" for key in addon.actions)
        rows.append(f"| [{name}]({name}.md){addon_mark(name)} | {addon.title} | "
                    f"{addon.service or 'none: it runs on the server'} | {steps} |")  # fmt: skip
    return page(
        "Addons",
        "An addon brings steps for a service of others. A file in [`addons/`](../addon.md) enables "
        "it.",
        rules(kinds()["addons"]),
        "\n".join(rows),
    )
