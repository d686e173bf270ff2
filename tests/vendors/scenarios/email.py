"""email, held against SendGrid's library."""

from __future__ import annotations

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer


def send(url: str, *, template: bool = False) -> object:
    import sendgrid  # noqa: PLC0415 - of the extra 'vendors'
    from sendgrid.helpers.mail import Mail  # noqa: PLC0415

    if template:
        mail = Mail(("shop@b.co", "The Shop"), ["a@b.co", "c@b.co"])
        mail.template_id, mail.dynamic_template_data = "d-1", {"n": 1}
    else:
        mail = Mail(
            ("shop@b.co", "The Shop"), ["a@b.co", "c@b.co"], "Hello ü",
            plain_text_content="text", html_content="<b>html</b>",
        )  # fmt: skip
    return sendgrid.SendGridAPIClient(CANARY, host=url).send(mail)


TAKEN = Answer(202, None, {"x-message-id": "m1"})

VENDOR = Vendor(
    "email",
    "apiKey: ${ env.EMAIL_KEY }\nsenderEmail: shop@b.co\nsenderName: The Shop\nendpoint: URL",
    {"EMAIL_KEY": CANARY},
    (
        Scenario(
            "email.sendEmail: { to: [a@b.co, c@b.co, A@b.co], subject: Hello ü, text: text,"
            " html: '<b>html</b>' }",
            send, TAKEN, {"messageId": "m1"},
        ),
        Scenario(
            "email.sendTemplateEmail:"
            " { to: [a@b.co, c@b.co], templateId: d-1, dynamicData: { n: 1 } }",
            lambda url: send(url, template=True), TAKEN, {"messageId": "m1"},
        ),
    ),
    headers=("authorization", "accept"),
    refusal={"errors": [{"message": "Bad sender.", "field": "from.email", "help": None}]},
    words="Bad sender.",
    reason="from.email",
)  # fmt: skip
