"""Signatures of webhooks, as each forge makes them."""

from __future__ import annotations

import hmac
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops_server.forges.hooks import find_schemes
from bbops_server.settings.repositories import FORGE_KINDS, ForgeKind

pytestmark = pytest.mark.quick

SECRET = "It's a Secret to Everybody"
BODY = b"Hello, World!"
OF_GITHUB = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
"""The example of docs.github.com for this secret and body."""
SIGNED = {
    "github": {"x-hub-signature-256": f"sha256={OF_GITHUB}"},
    "gitea": {"x-gitea-signature": OF_GITHUB},
    "forgejo": {"x-forgejo-signature": OF_GITHUB, "x-gitea-signature": OF_GITHUB},
    "gitlab": {"x-gitlab-token": SECRET},
}
EVENTS = {
    "github": {"x-github-event": "push"},
    "gitea": {"x-gitea-event": "push", "x-github-event": "push"},
    "forgejo": {"x-forgejo-event": "push", "x-gitea-event": "push"},
    "gitlab": {"x-gitlab-event": "Push Hook"},
}


def matches(kind: ForgeKind, headers: dict[str, str], *parts: bytes, secret: str = SECRET) -> bool:
    proof = find_schemes()[kind].proof_of(headers, secret)
    for part in parts:
        proof.update(part)
    return proof.matches()


def test_every_kind_of_the_settings_has_a_scheme() -> None:
    assert sorted(find_schemes()) == sorted(FORGE_KINDS)


@pytest.mark.parametrize("kind", FORGE_KINDS)
def test_signature_of_the_forge_matches(kind: ForgeKind) -> None:
    assert matches(kind, SIGNED[kind], b"Hello, ", b"World!")
    assert not matches(kind, SIGNED[kind], BODY, secret="another")


@pytest.mark.parametrize("kind", ["github", "gitea", "forgejo"])
def test_signature_of_another_body_does_not_match(kind: ForgeKind) -> None:
    assert not matches(kind, SIGNED[kind], BODY, b"!")


@pytest.mark.parametrize("kind", FORGE_KINDS)
def test_push_is_an_event_with_commits(kind: ForgeKind) -> None:
    scheme = find_schemes()[kind]
    assert scheme.event_of(EVENTS[kind]) in scheme.EVENTS
    assert scheme.event_of({}) not in scheme.EVENTS


@given(st.sampled_from(FORGE_KINDS), st.text(), st.binary())
def test_other_texts_never_match(kind: ForgeKind, text: str, body: bytes) -> None:
    right = hmac.new(SECRET.encode(), body, sha256).hexdigest()
    names = [name for headers in SIGNED.values() for name in headers]
    if text.lower().removeprefix("sha256=") not in {right, SECRET.lower()}:
        assert not matches(kind, dict.fromkeys(names, text), body)
