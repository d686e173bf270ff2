"""sms: short messages to phones."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, need
from bbops.language.expressions.types import TEXT, map_of


class Config(Model):
    """`from` is the number that sends, or the id of a messaging service (`MG…`).

    `apiKeySid` with `apiKeySecret` is instead of `authToken`; `endpoint` is for a stand-in.
    """

    account_sid: Setting = Field(description="The id of the Twilio account, `AC…`.")
    auth_token: Secret | None = Field(
        default=None, description="The auth token of the Twilio account."
    )
    api_key_sid: Setting | None = Field(
        default=None, description="The id of an API key of Twilio, `SK…`, in place of `authToken`."
    )
    api_key_secret: Secret | None = Field(default=None, description="The secret of that API key.")
    from_: Setting = Field(
        alias="from", description="The number that sends, or the id of a messaging service, `MG…`."
    )
    endpoint: Setting | None = Field(
        default=None, description="The address of a stand-in for Twilio, for tests."
    )


ADDON = AddonKind(
    "SMS",
    "Short messages to phones.",
    Config,
    {
        "sendSms": AddonAction(
            "Send SMS",
            "Send a short message.",
            (
                need("to", "text", "A number such as +15550101"),
                need("message", "text", "1,600 characters at most"),
            ),
            map_of(
                {
                    "sid": TEXT,
                    "status": TEXT,
                    "to": TEXT,
                    "from": TEXT.or_null(),
                    "body": TEXT,
                    "dateCreated": TEXT.or_null(),
                },
                "the message",
            ),
            '- sms.sendSms: { to: "+15550101", message: Your code is 123456 }\n'
            "  as: sent\n"
            "- return:\n"
            "    value: ${ vars.sent.status }",
        ),
    },
    config_example='accountSid: AC123\nauthToken: ${ env.SMS_AUTH_TOKEN }\nfrom: "+15550100"',
    hosts=("api.twilio.com",),
    service="Twilio",
    key_source="https://console.twilio.com/, under Account Info, or API keys",
)
