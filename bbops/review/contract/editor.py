"""Write the models of resources as JSON Schema 2020-12, for editors that complete and check YAML.

Editors and validators need different schemas: here alternatives are `anyOf` with a title each, so
that the editor lists the steps by their names; there are no defaults, which it would write into
every file; and the first alternative of a step is a step without an action, so that the editor
reports the missing key of a step that has no action yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from bbops.base.model import Model
from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.addons._base import step_keys
from bbops.language.loading.load import folder_of_key, kinds
from bbops.language.resources._crud import Crud
from bbops.language.resources._own_addon import OwnAddon, OwnStep
from bbops.language.resources.addon import addon_model
from bbops.language.shape import TYPES
from bbops.language.steps._base import Step, find_step_kind, step_kinds

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NO_ACTION = "<a step: find, insert, set, if, loop, call, return, ...>"
"""The key that is reported as missing for a step without an action."""

Names = Mapping[str, list[str]]
"""The names of a project's resources by folder; they become the options of references."""

COLUMNS = "references"
"""The key of a column that takes `table.column`."""
_ANY_TEXT = {"type": "string"}
_BARE = {"anyOf": [{"type": "string"}, {"type": "boolean"}, {"type": "number"}]}
_STEP = {"$comment": "a step"}
"""A placeholder for the reference to all steps, which pydantic would follow."""
_SHORT_KEYS = {"read_body_path": "body", "read_cron": "schedule", "read_topic": "topic"}
"""The key whose value is the short form of a map, by the function that reads it."""
_PLAIN: dict[str, JsonSchemaValue] = {
    "read_static": _ANY_TEXT, "read_bare": _BARE, "read_step": _STEP, "read_value": {},
    "plain": {},
}  # fmt: skip
_TYPE = {"anyOf": [{"enum": list(TYPES)}, {"type": "string", "pattern": r"^[a-z]+(\[\])?\??$"}]}


def schemas(names: Names | None = None) -> dict[str, JsonSchemaValue]:
    """Return the schema of each kind's files by its own name, such as `endpoint`.

    Args:
        names: the names of a project by folder, and `references` for columns that others may refer
            to; without them a reference is any text.
    """
    found = {}
    for folder, model in kinds().items():
        kind = model.__name__.lower()
        definitions: dict[str, JsonSchemaValue] = {}
        root = _root(folder, model, definitions)
        found[kind] = _document(kind, root, definitions, names or {})
    return found


def _root(
    folder: str, model: type[Model], definitions: dict[str, JsonSchemaValue]
) -> JsonSchemaValue:
    if folder == "addons":
        return _addons(definitions)
    if folder != "endpoints":
        return _schema(model, definitions)
    titled: dict[str, type[Model]] = {"one route": model, "routes of a table": Crud}
    every = [{**_schema(kind, definitions), "title": title} for title, kind in titled.items()]
    return {"anyOf": every}


def _addons(definitions: dict[str, JsonSchemaValue]) -> JsonSchemaValue:
    """Return the schema of any addon's file; each has a `config` of its own."""
    every = []
    for name, kind in addon_kinds().items():
        inner: dict[str, JsonSchemaValue] = {}
        root = {**_schema(addon_model(name), inner), "title": kind.title}
        if "Config" in inner:
            definitions[f"config.{name}"] = {**inner["Config"], "title": kind.title}
            root["properties"]["config"] = {"$ref": f"#/$defs/config.{name}"}
        every.append(root)
    for title, model in (("an addon of your own", OwnAddon), ("a step of one", OwnStep)):
        every.append({**_schema(model, definitions), "title": title})
    return {"anyOf": every}


def _document(
    kind: str, root: JsonSchemaValue, definitions: dict[str, JsonSchemaValue], names: Names
) -> JsonSchemaValue:
    if str(_STEP) in str([root, definitions]):
        definitions["step"] = _step(definitions)
    whole = {"$schema": DIALECT, **root, "title": kind}
    if definitions:
        whole["$defs"] = dict(sorted(definitions.items()))
    tidy: JsonSchemaValue = _tidy(whole)
    return tidy if kind == "addon" else dict(_with_names(tidy, names))


def _schema(model: type[Model], definitions: dict[str, JsonSchemaValue]) -> JsonSchemaValue:
    """Return a model's schema; its definitions go into `definitions`."""
    found = model.model_json_schema(by_alias=True, schema_generator=_Generator)
    definitions |= found.pop("$defs", {})
    return found


def _step(definitions: dict[str, JsonSchemaValue]) -> JsonSchemaValue:
    none = {
        "type": "object", "title": "a step", "properties": {NO_ACTION: {"not": {}}},
        "required": [NO_ACTION], "additionalProperties": False,
    }  # fmt: skip
    steps = {key: find_step_kind(key) for key in [*step_kinds(), *step_keys()]}
    for key, kind in steps.items():
        if kind is not None:
            definitions[f"step.{key}"] = _titled(kind, _schema(kind, definitions))
    return {"anyOf": [none, *({"$ref": f"#/$defs/step.{key}"} for key in steps)]}


def _titled(kind: type[Step], schema: JsonSchemaValue) -> JsonSchemaValue:
    return {**schema, "title": kind.title}


class _Generator(GenerateJsonSchema):
    """Adds the types of our own validators, which pydantic cannot see."""

    def function_plain_schema(
        self, schema: core_schema.PlainValidatorFunctionSchema
    ) -> JsonSchemaValue:
        """Return the input schema of a validator that reads a value alone."""
        name = schema["function"]["function"].__name__
        if name in {"read_columns", "read_groups"}:
            return {"anyOf": [{"type": "array", "items": _ANY_TEXT}, {"type": "object"}]}
        return dict(_PLAIN.get(name, {}))

    def function_after_schema(
        self, schema: core_schema.AfterValidatorFunctionSchema
    ) -> JsonSchemaValue:
        """Return the schema before the validator; the type of a field has names to choose from."""
        if schema["function"]["function"].__name__ == "check_type":
            return dict(_TYPE)
        return super().function_after_schema(schema)

    def function_before_schema(
        self, schema: core_schema.BeforeValidatorFunctionSchema
    ) -> JsonSchemaValue:
        """Return the schema with the short form that a validator also accepts."""
        inner = super().function_before_schema(schema)
        function = getattr(schema["function"]["function"], "__name__", "")
        if function == "read_one" and "items" in inner:
            return {"anyOf": [inner["items"], inner]}
        if function == "read_short_limit":
            return {"anyOf": [{"type": "integer", "minimum": 0}, inner]}
        if function == "read_one_text":
            return {"anyOf": [_ANY_TEXT, inner]}
        if function == "read_short_value":
            return {"anyOf": [{"type": "string", "pattern": r"\$\{"}, inner]}
        if function == "_no_parameters":
            return {"anyOf": [inner, {"type": "null"}]}
        if function == "read_gives":
            shape = {"type": "object", "additionalProperties": inner}
            return {"anyOf": [inner, shape]}
        if (key := _SHORT_KEYS.get(function)) is not None:
            return {"anyOf": [_untitled(inner["properties"][key]), inner]}
        if function == "read_name":
            return {"anyOf": [*inner["properties"]["event"]["anyOf"], inner]}
        if function == "read_place":
            return {"anyOf": [{"enum": ["path", "query", "header", "body"]}, inner]}
        return {"anyOf": [_TYPE, inner]} if function == "read_short_form" else inner

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Leave out the default."""
        return self.generate_inner(schema["schema"])

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Leave out null: authors leave out the key instead."""
        return self.generate_inner(schema["schema"])


def _tidy(node: Any) -> Any:
    """Return a schema without pydantic's titles of fields; our own titles are kept."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node == _STEP:
        return {"$ref": "#/$defs/step"}
    found: JsonSchemaValue = {key: _tidy(value) for key, value in node.items()}
    if "oneOf" in found:
        found["anyOf"] = found.pop("oneOf")  # editors list only the alternatives of `anyOf`
    if "anyOf" in found and "additionalProperties" in found and "properties" not in found:
        rule = found.pop("additionalProperties")  # the rule covers only the properties beside it
        for option in found["anyOf"]:
            if "properties" in option:
                option["additionalProperties"] = rule
    properties = found.get("properties")
    for inner in properties.values() if isinstance(properties, dict) else ():
        if isinstance(inner, dict) and isinstance(inner.get("title"), str):
            inner.pop("title")
    return found


def _untitled(schema: JsonSchemaValue) -> JsonSchemaValue:
    return {key: schema[key] for key in schema.keys() - {"title"}}


def _with_names(node: Any, names: Names) -> Any:
    """Return a schema whose references have the names of a project as options."""
    if isinstance(node, list):
        return [_with_names(item, names) for item in node]
    if not isinstance(node, dict):
        return node
    found = {key: _with_names(value, names) for key, value in node.items()}
    properties = found.get("properties")
    if isinstance(properties, dict):
        for key, folder in (*folder_of_key().items(), (COLUMNS, COLUMNS)):
            is_name = key == COLUMNS or "pattern" not in properties.get(key, {})
            if key in properties and names.get(folder) and is_name:
                properties[key] = _one_of(properties[key], names[folder])
    return found


def _one_of(schema: JsonSchemaValue, options: list[str]) -> JsonSchemaValue:
    if "anyOf" in schema:
        return {**schema, "anyOf": [_one_of(option, options) for option in schema["anyOf"]]}
    if schema.get("type") == "array":
        items = schema.get("items", {})
        named = _one_of(items, options) if "anyOf" in items else {"enum": options}
        return {**schema, "items": named}
    return {**schema, "enum": options} if schema.get("type") == "string" else schema
