"""crm, held against HubSpot's library."""

from __future__ import annotations

import importlib
from typing import Any

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer

PATH = {"path": "the library sends to /crm/v3, the description has 2026-03"}
RECORD = {
    "id": "101", "properties": {"email": "a@b.c"}, "createdAt": "2026-01-02T03:04:05Z",
    "updatedAt": "2026-01-02T03:04:05Z", "archived": False,
}  # fmt: skip
FOUND = {"total": 1, "results": [RECORD]}


def api(url: str, kind: str, name: str) -> Any:
    """Return a part of the library, and its module."""
    module = importlib.import_module(f"hubspot.crm.{kind}")
    settings = module.Configuration()
    settings.host, settings.access_token = url, CANARY
    return getattr(module, name)(module.ApiClient(settings)), module


def create(url: str, kind: str, properties: dict[str, str]) -> object:
    found, module = api(url, kind, "BasicApi")
    made = module.SimplePublicObjectInputForCreate(properties=properties, associations=[])
    return found.create(made)


def update(url: str) -> object:
    found, module = api(url, "contacts", "BasicApi")
    return found.update("101", module.SimplePublicObjectInput(properties={"x": "y"}))


def search(url: str) -> object:
    found, module = api(url, "contacts", "SearchApi")
    one = {"propertyName": "email", "operator": "EQ", "value": "a"}
    asked = module.PublicObjectSearchRequest(
        query="q", limit=10, filter_groups=[{"filters": [one]}]
    )
    return found.do_search(asked)


VENDOR = Vendor(
    "crm",
    "accessToken: ${ env.CRM_TOKEN }\nendpoint: URL",
    {"CRM_TOKEN": CANARY},
    (
        Scenario(
            "crm.createContact:"
            " { email: a@b.c, firstName: F, properties: { vip: true, age: 7, note: null } }",
            lambda url: create(url, "contacts", {
                "email": "a@b.c", "firstname": "F", "vip": "true", "age": "7", "note": "",
            }),
            Answer(201, RECORD), RECORD, PATH,
        ),
        Scenario(
            "crm.updateContact: { contactId: '101', properties: { x: y } }", update,
            Answer(body=RECORD), RECORD, PATH,
        ),
        Scenario(
            "crm.createDeal: { dealName: d, amount: 10.5, stage: x }",
            lambda url: create(
                url, "deals", {"dealname": "d", "amount": "10.5", "dealstage": "x"}
            ),
            Answer(201, RECORD), RECORD, PATH,
        ),
        Scenario(
            "crm.searchContacts:"
            " { query: q, filters: [{ property: email, operator: eq, value: a }] }",
            search, Answer(body=FOUND), FOUND, PATH,
        ),
    ),
    headers=("authorization",),
    refusal={"category": "CONFLICT", "message": "Contact already exists. Existing ID: 101"},
    words="Contact already exists. Existing ID: 101",
    reason="CONFLICT",
)  # fmt: skip
