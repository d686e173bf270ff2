"""Find sign-in services that are new or more trusted than before."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.language.project import Resource
from bbops.language.resources.project import Project
from bbops.review.plan.finding import Finding, finding

_CODE = "sign-in-provider-added"


def find_added_providers(base: Resource[Project], head: Resource[Project]) -> Iterator[Finding]:
    """Yield providers that are new or have another issuer, or that join more accounts."""
    old, new = base.model.auth, head.model.auth
    if new is None:
        return
    had = old.providers if old else {}
    for name, provider in new.providers.items():
        place, before = head.place("auth", "providers", name, key=True), had.get(name)
        issuer = provider.issuer_of(name)
        if before is None or before.issuer_of(name) != issuer:
            yield finding(_CODE, name, f"users can sign in at '{issuer}'", place)
        elif more := sorted(set(provider.domains) - set(before.domains)):
            message = f"it is believed whose mailboxes of {', '.join(more)} are"
            yield finding(_CODE, name, message, place)
    was = old.profile.email_verified if old else None
    now = new.profile.email_verified
    if had and new.providers and now is not None and now != was:
        message = f"an identity joins the account of its address where '{now}' says so"
        yield finding(_CODE, "profile", message, head.place("auth", "profile", "emailVerified"))
    blocked = old.profile.blocked if old else None
    if had and new.providers and blocked is not None and blocked != new.profile.blocked:
        message = f"accounts can sign in where '{blocked}' says that they may not"
        yield finding(_CODE, "profile", message, head.place("auth", "profile"))
