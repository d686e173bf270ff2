"""crm: contacts and deals of a customer relationship system."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need
from bbops.language.expressions.types import ANY, BOOLEAN, INTEGER, TEXT, list_of, map_of

_OBJECT = map_of(
    {"id": TEXT, "properties": ANY, "createdAt": TEXT, "updatedAt": TEXT, "archived": BOOLEAN},
    "the record",
)


class Config(Model):
    """A service key. `endpoint` is for a stand-in."""

    access_token: Secret = Field(
        description="A service key of HubSpot, or the access token of a private app."
    )
    endpoint: Setting | None = Field(
        default=None, description="The address of a stand-in for HubSpot, for tests."
    )


ADDON = AddonKind(
    "CRM",
    "Contacts and deals.",
    Config,
    {
        "createContact": AddonAction(
            "Create Contact",
            "Make a contact.",
            (
                need("email"),
                may("firstName"),
                may("lastName"),
                may("properties", "map", "Other properties by their names"),
            ),
            _OBJECT,
            "- crm.createContact: { email: ada@example.com, firstName: Ada }\n"
            "  as: contact\n"
            "- return:\n"
            "    value: ${ vars.contact.id }",
        ),
        "updateContact": AddonAction(
            "Update Contact",
            "Change properties of a contact.",
            (
                need("contactId"),
                need("properties", "map"),
            ),
            _OBJECT,
            '- crm.updateContact:\n    contactId: "101"\n    properties: { phone: "123" }',
            repeat="safe",
        ),
        "createDeal": AddonAction(
            "Create Deal",
            "Make a deal.",
            (
                need("dealName"),
                may("amount", "number"),
                may("stage", "text", "The id of a stage of the pipeline"),
                may("properties", "map"),
            ),
            _OBJECT,
            "- crm.createDeal: { dealName: Ten seats, amount: 1000 }",
        ),
        "searchContacts": AddonAction(
            "Search Contacts",
            "Find contacts by a text, by properties, or both.",
            (
                may("query", "text", "Words to look for"),
                may("filters", "list", "Maps of `property`, `operator` and `value`"),
                may("limit", "integer", "10 if left out", limits=(1, 200)),
                may("properties", "list", "Names of properties to give, beside a few"),
            ),
            map_of({"total": INTEGER, "results": list_of(_OBJECT)}, "the search"),
            "- crm.searchContacts: { query: ada }\n"
            "  as: found\n"
            "- return:\n"
            "    value: ${ vars.found.total }",
            repeat="safe",
            per_second=4.0,
            writes=False,
        ),
    },
    config_example="accessToken: ${ env.CRM_TOKEN }",
    hosts=("api.hubapi.com",),
    scopes=("crm.objects.contacts.read", "crm.objects.contacts.write", "crm.objects.deals.write"),
    service="HubSpot",
    key_source="HubSpot, under Development, Keys and Service keys",
)
