"""Routes of the App of the stand-in for GitHub: manifest, installation, tokens and webhook."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from tests.support.forge_api import TIME
from tests.support.github.facts import Grant, Hook
from tests.support.github.routing import REPO, Call, Reply, require, route

APP_SECRET = "secret of the App's webhook"
JWT, NOTHING = "", "-"
"""The credential of a request: an App's JWT, or none."""


@route("GET", "/app", JWT)
def show_app(call: Call) -> Reply:
    return Reply(200, call.shapes.app())


@route("GET", f"{REPO}/installation", JWT)
def show_installation(call: Call) -> Reply:
    app = call.world.app
    require(app and app.is_installed)
    return Reply(200, call.shapes.installation())


@route("POST", "/app/installations/{installation_id}/access_tokens", JWT)
def create_token(call: Call) -> Reply:
    world, body = call.world, call.body or {}
    app = world.app
    assert app is not None
    name = world.repo.name.partition("/")[2]
    is_known = body.get("repositories") == [name] or body.get("repository_ids") == [world.repo.id]
    message = "There is at least one repository that does not exist or is not accessible"
    require(app.is_installed and is_known, 422, message)
    ends = world.now() + timedelta(hours=1)
    token = f"ghs_{secrets.token_hex(18)}"
    world.grants[token] = Grant(f"{app.slug}[bot]", dict(app.rights), is_app=True, expires_at=ends)
    answer = {"token": token, "expires_at": ends.strftime("%Y-%m-%dT%H:%M:%SZ")}
    return Reply(201, {**answer, "permissions": app.rights, "repository_selection": "selected"})


@route("POST", "/app-manifests/{code}/conversions", NOTHING)
def create_app(call: Call) -> Reply:
    """Create the App of a manifest; its code is valid once."""
    made = call.world.manifests.pop(call.path["code"], None)
    require(made)
    assert made is not None
    app, private_key = made
    call.world.app = app
    return Reply(201, {
        **(call.shapes.app() or {}), "client_id": "Iv1.1", "client_secret": "client secret",
        "webhook_secret": APP_SECRET, "pem": private_key,
    })  # fmt: skip


@route("GET", "/app/hook/config", JWT)
def show_app_hook(call: Call) -> Reply:
    return Reply(200, _config(call))


@route("PATCH", "/app/hook/config", JWT)
def change_app_hook(call: Call) -> Reply:
    body, hooks = call.body, call.world.webhooks.hooks
    hooks[:] = [Hook(1, body["url"], body["secret"], ["*"])]
    return Reply(200, _config(call))


@route("GET", "/app/hook/deliveries", JWT)
def list_deliveries(call: Call) -> Reply:
    sent = [
        {"id": 1, "guid": delivery.id, "delivered_at": TIME, "redelivery": False, "duration": 0.1,
         "status": "OK", "status_code": status, "event": delivery.event, "action": None,
         "installation_id": None, "repository_id": None}
        for delivery, status in reversed(call.world.webhooks.sent)
    ]  # fmt: skip
    return Reply(200, sent)


def _config(call: Call) -> Any:
    hooks = call.world.webhooks.hooks
    url = hooks[0].url if hooks else ""
    return {"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": url}
