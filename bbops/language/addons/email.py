"""email: mails by a delivery service."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need
from bbops.language.addons._parameters import MAIL
from bbops.language.expressions.types import TEXT, map_of

_SENT = map_of({"messageId": TEXT.or_null()}, "the mail")


class Config(Model):
    """The service must have verified the sender.

    `endpoint` is for its servers in Europe, https://api.eu.sendgrid.com, or for a stand-in.
    """

    api_key: Secret = Field(description="An API key of SendGrid that may send mails.")
    sender_email: Setting = Field(
        description="The address that mails come from, which SendGrid has verified."
    )
    sender_name: Setting = Field(description="The name that mails come from.")
    endpoint: Setting | None = Field(
        default=None,
        description="SendGrid in Europe, `https://api.eu.sendgrid.com`, or a stand-in.",
    )


ADDON = AddonKind(
    "Email",
    "Mails by a delivery service.",
    Config,
    {
        "sendEmail": AddonAction(
            "Send Email",
            "Send a mail.",
            MAIL,
            _SENT,
            "- email.sendEmail:\n"
            "    to: ada@example.com\n"
            "    subject: Hello\n"
            "    text: How are you?",
            one_of=("html", "text"),
        ),
        "sendTemplateEmail": AddonAction(
            "Send Template Email",
            "Send a mail that the service fills in.",
            (
                need("to", "text list", "An address, or a list of them"),
                need("templateId", "text", "Begins with d-"),
                may("dynamicData", "map"),
                may("separately", "boolean", "A mail for each: they do not see each other"),
            ),
            _SENT,
            "- email.sendTemplateEmail:\n"
            "    to: ada@example.com\n"
            "    templateId: d-123\n"
            "    dynamicData: { name: Ada }",
        ),
    },
    config_example="apiKey: ${ env.EMAIL_API_KEY }\n"
    "senderEmail: hello@example.com\n"
    "senderName: The Shop",
    hosts=("api.sendgrid.com",),
    scopes=("mail.send",),
    service="SendGrid",
    key_source="https://app.sendgrid.com/settings/api_keys",
)
