"""identityToken: the user of a token of an identity platform."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.base.names import env_name
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, need
from bbops.language.expressions.types import BOOLEAN, INTEGER, TEXT, map_of

_PROJECT = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]").fullmatch


def check_project(text: str) -> str:
    """Return a project id unchanged; refuse text that cannot be a project id."""
    if not env_name(text) and not _PROJECT(text):
        raise PydanticCustomError(
            "bad_value", "'projectId' has 6 to 30 of a-z, 0-9 and '-', such as my-project-1a2b3"
        )
    return text


_PERSON = dict.fromkeys(("email", "name", "picture"), TEXT.or_null())


class Config(Model):
    """The project of the identity platform.

    `serviceAccount` is the JSON of a key with the role Firebase Authentication Viewer; only
    `getUser` needs it.
    """

    project_id: Annotated[Setting, AfterValidator(check_project)] = Field(
        description="The id of the Firebase project, such as `shop-1a2b3`."
    )
    service_account: Secret | None = Field(
        default=None, description="The JSON of a service account's key; only `getUser` needs it."
    )
    endpoint: Setting | None = Field(
        default=None,
        description="The address of a stand-in for Firebase Authentication, for tests.",
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_web_key(cls, given: Any) -> Any:
        """Explain why a web key from another catalog is not accepted."""
        if isinstance(given, dict) and "webApiKey" in given:
            raise PydanticCustomError(
                "bad_value", "'webApiKey' does nothing here, so it is not accepted",
                {"hint": "remove it: tokens are checked with public keys, and 'getUser' needs"
                 " 'serviceAccount'"},
            )  # fmt: skip
        return given


ADDON = AddonKind(
    "Identity Token",
    "Who a token of an identity platform stands for.",
    Config,
    {
        "verifyIdToken": AddonAction(
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
            repeat="safe",
            writes=False,
            answers=frozenset({401}),
        ),
        "getUser": AddonAction(
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
            repeat="safe",
            writes=False,
            answers=frozenset({404}),
        ),
    },
    config_example="projectId: my-project\nserviceAccount: ${ env.IDENTITY_SERVICE_ACCOUNT }",
    hosts=("www.googleapis.com", "oauth2.googleapis.com", "identitytoolkit.googleapis.com"),
    service="Firebase Authentication",
    key_source="https://console.firebase.google.com/, under Project settings and Service accounts",
)
