"""identityToken: who a token of an identity platform stands for."""

from __future__ import annotations

from bbops.base.model import Model
from bbops.language.addons._base import Action, AddonKind, Secret, Setting, need
from bbops.language.expressions.types import BOOLEAN, INTEGER, TEXT, map_of

_PERSON = dict.fromkeys(("email", "name", "picture"), TEXT.or_null())


class Config(Model):
    """The project of the identity platform."""

    project_id: Setting
    web_api_key: Secret


ADDON = AddonKind(
    "Identity Token",
    "Who a token of an identity platform stands for.",
    Config,
    {
        "verifyIdToken": Action(
            "Verify ID Token",
            "Check a token that a client brings; a bad one throws 401.",
            (need("idToken", "text", "The token as the client has it"),),
            map_of(
                {"uid": TEXT, **_PERSON, "email_verified": BOOLEAN, "auth_time": INTEGER},
                "the token",
            ),
            "- identityToken.verifyIdToken:\n"
            "    idToken: ${ headers['x-id-token'] | default('') }\n"
            "  as: person\n"
            "- return:\n"
            "    value: ${ vars.person.uid }",
        ),
        "getUser": Action(
            "Get User",
            "Read a user of the identity platform; an unknown one throws 404.",
            (need("uid"),),
            map_of(
                {"uid": TEXT, **_PERSON, "email_verified": BOOLEAN, "disabled": BOOLEAN}, "the user"
            ),
            "- identityToken.getUser: { uid: u1 }\n"
            "  as: person\n"
            "- return:\n"
            "    value: ${ vars.person.email }",
        ),
    },
    config_example="projectId: my-project\nwebApiKey: ${ env.IDENTITY_API_KEY }",
)
