"""identityToken, held against Firebase's library."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer

PROJECT = "my-project"


@cache
def service_account(token_uri: str = "https://oauth2.googleapis.com/token") -> str:
    """Return the JSON of a key; the canary is its id."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()  # fmt: skip
    return json.dumps({
        "type": "service_account", "project_id": PROJECT, "private_key_id": CANARY,
        "private_key": text, "client_email": "reader@my-project.iam.gserviceaccount.com",
        "client_id": "1", "token_uri": token_uri,
    })  # fmt: skip


def get_user(url: str) -> Any:
    import firebase_admin  # noqa: PLC0415 - of the extra 'vendors'
    from firebase_admin import auth, credentials  # noqa: PLC0415

    given = json.loads(service_account(f"{url}/token"))
    app = firebase_admin.initialize_app(credentials.Certificate(given), name=url)
    try:
        client = auth._get_client(app)
        client._user_manager.base_url = f"{url}/v1/projects/{PROJECT}"
        return client.get_user("u 1/ü")
    finally:
        with suppress(ValueError):
            firebase_admin.delete_app(app)


TOKEN = {"access_token": "ya29.a", "expires_in": 3_599, "token_type": "Bearer"}
USER = {
    "localId": "u 1/ü", "email": "a@b.c", "displayName": "Ada", "photoUrl": "https://b.c/p.png",
    "emailVerified": True, "validSince": "1700000000",
}  # fmt: skip

VENDOR = Vendor(
    "identityToken",
    f"projectId: {PROJECT}\nserviceAccount: ${{ env.IDENTITY_ACCOUNT }}\nendpoint: URL",
    {"IDENTITY_ACCOUNT": service_account()},
    (
        Scenario(
            "identityToken.getUser: { uid: u 1/ü }",
            get_user,
            (Answer(body=TOKEN), Answer(body={"users": [USER]})),
            {
                "uid": "u 1/ü",
                "email": "a@b.c",
                "name": "Ada",
                "picture": "https://b.c/p.png",
                "email_verified": True,
                "disabled": False,
            },
            differs={"body": "each assertion has its own key and time"},
        ),
    ),
    headers=("authorization",),
    refusal={"error": {"code": 403, "message": "No right.", "status": "PERMISSION_DENIED"}},
    words="No right.",
    reason="PERMISSION_DENIED",
    offline=("verifyIdToken",),
    seconds=3,  # a key of RSA is read and checked before
)
