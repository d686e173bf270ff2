"""crm, in the shapes of HubSpot's CRM API of 2026-03. Every value of a property is a text there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from bbops.base.host import HttpResponse
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import bearer, pick, segment, text_at
from bbops.runtime.vendors._work import Work

_ADDRESS: Final = "https://api.hubapi.com"
_VERSION: Final = "2026-03"
"""The next one enforces rules that administrators set: to be moved to on purpose."""

_LIMIT: Final = 10
_OPERATORS: Final = frozenset({
    "EQ", "NEQ", "LT", "LTE", "GT", "GTE", "BETWEEN", "IN", "NOT_IN", "HAS_PROPERTY",
    "NOT_HAS_PROPERTY", "CONTAINS_TOKEN", "NOT_CONTAINS_TOKEN",
})  # fmt: skip


async def create_contact(work: Work, given: Mapping[str, Any]) -> Any:
    """Make a contact."""
    named = pick(given, "email", firstName="firstname", lastName="lastname")
    return await _create(work, "contacts", given, named)


async def update_contact(work: Work, given: Mapping[str, Any]) -> Any:
    """Change properties of a contact."""
    path = f"contacts/{segment(given['contactId'], 'contactId')}"
    return await _ask(work, "PATCH", path, {"properties": _texts(given["properties"])})


async def create_deal(work: Work, given: Mapping[str, Any]) -> Any:
    """Make a deal."""
    named = pick(given, "amount", dealName="dealname", stage="dealstage")
    return await _create(work, "deals", given, named)


async def search_contacts(work: Work, given: Mapping[str, Any]) -> Any:
    """Find contacts: those that fit all filters. What was just written is found seconds later."""
    body = {"limit": given.get("limit", _LIMIT)} | pick(given, "query", "properties")
    filters = [_filter(one) for one in given.get("filters", ())]
    if filters:
        body["filterGroups"] = [{"filters": filters}]
    return await _ask(work, "POST", "contacts/search", body)


async def _create(
    work: Work, kind: str, given: Mapping[str, Any], named: Mapping[str, Any]
) -> Any:  # fmt: skip
    properties = _texts({**given.get("properties", {}), **named})
    return await _ask(work, "POST", kind, {"properties": properties, "associations": []})


def _filter(one: Any) -> dict[str, Any]:
    if not isinstance(one, dict) or not isinstance(one.get("property"), str):
        raise FlowError("a filter is a map with 'property', 'operator' and 'value'")
    operator = str(one.get("operator", "EQ")).upper()
    if operator not in _OPERATORS:
        known = ", ".join(sorted(_OPERATORS))
        raise FlowError(f"'{operator[:40]}' is not an operator: use {known}")
    found = {"propertyName": one["property"], "operator": operator}
    value = one.get("value")
    if operator in {"IN", "NOT_IN"}:
        values = value if isinstance(value, list) else [value]
        return found | {"values": [_text(each) for each in values]}
    if operator == "BETWEEN":
        if not isinstance(value, list) or len(value) != 2:
            raise FlowError("'value' of BETWEEN must be a list of two")
        return found | {"value": _text(value[0]), "highValue": _text(value[1])}
    return found if value is None else found | {"value": _text(value)}


def _texts(values: Any) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}


def _text(value: Any) -> str:
    if value is None:
        return ""  # empties a property
    return str(value).lower() if isinstance(value, bool) else str(value)


async def _ask(work: Work, method: str, path: str, body: Any) -> Any:
    url = f"{work.address(_ADDRESS)}/crm/objects/{_VERSION}/{path}"
    return await work.ask(
        method, url, bearer(work.setting("accessToken")), body, refusal=_refusal
    )  # fmt: skip


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    return Refusal(text_at(found, "message"), text_at(found, "category"))


async def probe(work: Work) -> str:
    """Read one contact."""
    await _ask(work, "GET", "contacts?limit=1", UNSET)
    return ""


STEPS: Final = {
    "createContact": create_contact,
    "updateContact": update_contact,
    "createDeal": create_deal,
    "searchContacts": search_contacts,
}
PROBE: Final = probe
