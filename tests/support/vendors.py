"""Small documents in the shapes of four vendors' own, with steps that are right and wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}


@dataclass(frozen=True)
class Vendor:
    """A document, the steps that are made of it, and how functions use them.

    Attributes:
        codes: what is wrong with `wrong`.
    """

    document: dict[str, Any]
    steps: dict[str, str]
    right: str
    wrong: str
    codes: list[str]


def _document(server: str, paths: Any, schemas: Any, schemes: Any = None) -> dict[str, Any]:
    components = {"schemas": schemas, "securitySchemes": schemes or {}}
    return {
        "openapi": "3.0.3", "info": {"title": "x", "version": "2026-01"},
        "servers": [{"url": server}], "paths": paths, "components": components,
    }  # fmt: skip


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _answer(schema: Any, kind: str = "application/json") -> Any:
    return {"200": {"description": "ok", "content": {kind: {"schema": schema}}}}


STRIPE = Vendor(
    _document(
        "https://api.stripe.com/",
        {"/v1/refunds": {"post": {
            "operationId": "PostRefunds",
            "requestBody": {"required": False, "content": {"application/x-www-form-urlencoded": {
                "encoding": {"expand": {"explode": True, "style": "deepObject"}},
                "schema": {"type": "object", "properties": {
                    "charge": {"type": "string", "maxLength": 5000}, "amount": _INTEGER,
                    "expand": {"type": "array", "items": _STRING},
                    "metadata": {"anyOf": [
                        {"type": "object", "additionalProperties": _STRING},
                        {"type": "string", "enum": [""]}]},
                    "reason": {"type": "string", "enum": ["duplicate", "fraudulent"]}}}}}},
            "responses": _answer(_ref("refund"))}}},
        {"refund": {"type": "object", "required": ["id", "amount", "charge"], "properties": {
            "id": _STRING, "amount": _INTEGER,
            "charge": {"anyOf": [_STRING, _ref("charge")], "nullable": True},
            "status": {"type": "string", "nullable": True}}},
         "charge": {"type": "object", "properties": {"refunds": {
             "type": "array", "items": _ref("refund")}}}},
        {"basicAuth": {"type": "http", "scheme": "basic"},
         "bearerAuth": {"type": "http", "scheme": "bearer"}},
    ),
    {"refund": "PostRefunds"},
    "  - own.refund: { charge: ch_1, amount: 5, metadata: { a: b }, expand: [charge] }\n"
    "    as: it\n  - return: { value: '${ vars.it.amount + 1 }' }\n",
    "  - own.refund: { charge: 5, amont: 5, reason: bored }\n    as: it\n"
    "  - return: { value: '${ vars.it.status | upper }' }\n",
    ["bad-value", "unknown-key", "bad-value", "maybe-null"],
)  # fmt: skip

GITHUB = Vendor(
    _document(
        "https://api.github.com",
        {"/repos/{owner}/{repo}/pulls/{pull_number}": {"get": {
            "summary": "Get a pull request",
            "parameters": [{"$ref": f"#/components/parameters/{name}"}
                           for name in ("owner", "repo", "pull-number")],
            "responses": {"200": {"content": {"application/json": {
                "schema": _ref("pull-request")}}}}}}},
        {"pull-request": {"type": "object", "required": ["id", "body", "head", "labels"],
                          "properties": {
            "id": {"type": "integer", "format": "int64"}, "body": {"type": "string",
            "nullable": True}, "merged_at": {"type": "string", "format": "date-time",
            "nullable": True}, "+1": _INTEGER,
            "head": {"type": "object", "required": ["sha"], "properties": {"sha": _STRING}},
            "labels": {"type": "array", "items": {"type": "object", "properties": {
                "name": {"type": "string"}}}}}}},
    ),
    {"getPull": "GET /repos/{owner}/{repo}/pulls/{pull_number}"},
    "  - own.getPull: { owner: a, repo: b, pull_number: 7 }\n    as: pull\n"
    "  - return: { value: ['${ vars.pull.head.sha | upper }', '${ vars.pull.labels }'] }\n",
    "  - own.getPull: { owner: a, repo: b }\n    as: pull\n"
    "  - return: { value: ['${ vars.pull.head.shaa }', '${ vars.pull.body | upper }'] }\n",
    ["missing-key", "unknown-field", "maybe-null"],
)  # fmt: skip
GITHUB.document["components"]["parameters"] = {
    "owner": {"name": "owner", "in": "path", "required": True, "schema": _STRING},
    "repo": {"name": "repo", "in": "path", "required": True, "schema": _STRING},
    "pull-number": {"name": "pull_number", "in": "path", "required": True, "schema": _INTEGER},
}

TWILIO = Vendor(
    _document(
        "https://api.twilio.com",
        {"/2010-04-01/Accounts/{AccountSid}/Messages.json": {
            "parameters": [{"name": "AccountSid", "in": "path", "required": True, "schema": {
                "type": "string", "minLength": 3, "pattern": "^AC[0-9a-fA-F]{1,32}$"}}],
            "post": {
                "operationId": "CreateMessage",
                "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {
                    "type": "object", "required": ["To"], "properties": {
                        "To": {"type": "string", "format": "phone-number"}, "Body": _STRING,
                        "MediaUrl": {"type": "array", "items": {"type": "string",
                                                                "format": "uri"}},
                        "SendAt": {"type": "string", "format": "date-time"}}}}}},
                "responses": {"201": {"content": {"application/json": {
                    "schema": _ref("message")}}}}}}},
        {"message": {"type": "object", "properties": {
            "sid": {"type": "string", "nullable": True},
            "error_code": {"type": "integer", "nullable": True}}}},
        {"accountSid_authToken": {"type": "http", "scheme": "basic"}},
    ),
    {"send": "CreateMessage"},
    "  - own.send: { AccountSid: AC1, To: '+1', Body: hi, MediaUrl: ['https://a.example.com'] }\n"
    "    as: it\n  - return: { value: \"${ vars.it.sid | default('') | upper }\" }\n",
    "  - own.send: { AccountSid: AC1, Body: hi, SendAt: tomorrow }\n",
    ["missing-key", "bad-value"],
)  # fmt: skip

OPENAI = Vendor(
    _document(
        "https://api.openai.com/v1",
        {"/chat/completions": {"post": {
            "operationId": "createChatCompletion", "summary": "Creates a model response",
            "requestBody": {"required": True, "content": {"application/json": {
                "schema": _ref("CreateChat")}}},
            "responses": {"200": {"content": {
                "application/json": {"schema": _ref("Chat")},
                "text/event-stream": {"schema": _STRING}}}}}}},
        {"CreateChat": {"allOf": [_ref("Shared"), {
            "type": "object", "required": ["model", "messages"], "properties": {
                "model": {"anyOf": [_STRING, {"type": "string", "enum": ["gpt-a", "gpt-b"]}]},
                "messages": {"type": "array", "minItems": 1, "items": {"oneOf": [
                    {"type": "object", "properties": {"role": _STRING}},
                    {"type": "object", "properties": {"tool": _STRING}}]}}}}]},
         "Shared": {"type": "object", "properties": {
             "temperature": {"type": "number", "minimum": 0, "maximum": 2, "nullable": True}}},
         "Chat": {"type": "object", "required": ["id", "choices"], "properties": {
             "id": _STRING, "choices": {"type": "array", "items": {
                 "type": "object", "required": ["message"], "properties": {"message": {
                     "type": "object", "required": ["content"], "properties": {
                         "content": {"anyOf": [_STRING, {"type": "null"}]}}}}}}}}},
        {"ApiKeyAuth": {"type": "http", "scheme": "bearer"}},
    ),
    {"chat": "createChatCompletion"},
    "  - own.chat: { model: gpt-a, messages: [{ role: user }], temperature: 1 }\n    as: it\n"
    "  - return: { value: '${ vars.it.choices | length }' }\n",
    "  - own.chat: { model: 7, messages: hello, temperature: 3 }\n",
    ["bad-value", "bad-value", "bad-value"],
)  # fmt: skip

VENDORS = {"stripe": STRIPE, "github": GITHUB, "twilio": TWILIO, "openai": OPENAI}
