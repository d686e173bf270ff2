"""smtpMail: mails by any server that speaks SMTP."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting
from bbops.language.addons._parameters import MAIL
from bbops.language.expressions.types import TEXT, list_of, map_of


class Config(Model):
    """The server, and who sends.

    - `server` is `smtp://mail.example.com:587`, with STARTTLS, or `smtps://mail.example.com`, with
      TLS from the start (port 465). Without TLS nothing is sent.
    - `user` and `password` go together.
    - `caCertificate` holds certificates in PEM that are trusted in the place of the public ones,
      for a server of one's own.
    """

    server: Setting = Field(
        description="`smtp://HOST:587` (STARTTLS) or `smtps://HOST` (TLS); never without TLS."
    )
    sender_email: Setting = Field(description="The address that mails come from.")
    sender_name: Setting = Field(description="The name that mails come from.")
    user: Setting | None = Field(
        default=None,
        description="The user that signs in at the server; none by default.",
    )
    password: Secret | None = Field(default=None, description="The password of `user`.")
    ca_certificate: Secret | None = Field(
        default=None,
        description="Certificates in PEM, trusted in place of the public ones.",
    )


ADDON = AddonKind(
    "SMTP mail",
    "Mails by any server that speaks SMTP.",
    Config,
    {
        "sendEmail": AddonAction(
            "Send Email",
            "Send a mail. `refused` are recipients that the server did not take; it is an error if"
            " it took none.",
            MAIL,
            map_of({"messageId": TEXT, "refused": list_of(TEXT)}, "the mail"),
            "- smtpMail.sendEmail:\n"
            "    to: ada@example.com\n"
            "    subject: Hello\n"
            "    text: How are you?",
            one_of=("html", "text"),
        ),
    },
    config_example="server: smtp://mail.example.com:587\n"
    "user: shop\n"
    "password: ${ env.EMAIL_API_KEY }\n"
    "senderEmail: hello@example.com\n"
    "senderName: The Shop",
    address="server",
    service="an SMTP server",
    key_source="the provider of the mail server",
)
