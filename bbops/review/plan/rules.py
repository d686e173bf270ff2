"""Find rules of project.yaml that are looser than before: secrets, cookies, keys, reviews."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.names import env_name
from bbops.language.project import Resource
from bbops.language.resources.project import Cookie, Project, Review, SignedReview, VerifyingKey
from bbops.review.plan.codes import Finding, finding
from bbops.review.plan.hosts import find_added_providers

_SAME_SITE = ("Strict", "Lax", "None")
"""The values, strictest first."""

Settings = Resource[Project]

Loosened = tuple[str, tuple[str, ...]]
"""A looser rule, and its path in project.yaml."""


def find_loosened_rules(base: Settings, head: Settings) -> Iterator[Finding]:
    """Yield the rules that allow more than before."""
    yield from _secrets(base, head)
    yield from _cookies(base, head)
    yield from _keys(base, head)
    yield from find_added_providers(base, head)
    for message, path in find_loosened_review(base.model, head.model):
        yield finding("review-loosened", "review", message, head.place(*path))


def find_loosened_review(base: Project, head: Project) -> Iterator[Loosened]:
    """Yield the changes that need less review, or no passing tests."""
    yield from compare_reviews(base.review, head.review)
    if base.tests.gate and not head.tests.gate:
        yield "tests no longer gate publishing", ("tests", "gate")


def _secrets(base: Settings, head: Settings) -> Iterator[Finding]:
    for name, variable in head.model.env.items():
        old = base.model.env.get(name)
        if old is not None and old.secret and not variable.secret:
            place = head.place("env", name, key=True)
            yield finding("secret-opened", f"env {name}", "is no longer a secret", place)


def _cookies(base: Settings, head: Settings) -> Iterator[Finding]:
    old, new = base.model.session, head.model.session
    if old is None or new is None or old.cookie is None or new.cookie is None:
        return
    for message, path in _cookie(old.cookie, new.cookie):
        yield finding("cookie-loosened", "session", message, head.place("session", "cookie", path))
    if old.csrf_header and not new.csrf_header:
        message = "changes with a cookie no longer need a header"
        yield finding("cookie-loosened", "session", message, head.place("session"))


def _cookie(old: Cookie, new: Cookie) -> Iterator[tuple[str, str]]:
    if old.secure and not new.secure:
        yield "the cookie is also sent without TLS", "secure"
    if _SAME_SITE.index(new.same_site) > _SAME_SITE.index(old.same_site):
        yield f"the cookie has sameSite {new.same_site}, it had {old.same_site}", "sameSite"
    if new.domain and new.domain != old.domain:
        yield f"the cookie is sent to all of '{new.domain}'", "domain"


def _keys(base: Settings, head: Settings) -> Iterator[Finding]:
    old, new = base.model.auth, head.model.auth
    had = [_source(key) for key in old.keys] if old else []
    for at, key in enumerate(new.keys if new else ()):
        if _source(key) not in had:
            message = f"those that {_source(key)} signs count"
            yield finding("key-trusted", "tokens", message, head.place("auth", "keys", at))
    for name in ("issuer", "audience"):
        was, now = getattr(old, name, None), getattr(new, name, None)
        if was is not None and new is not None and was != now:
            message = f"those of {name} '{now}' count" if now else f"those of any {name} count"
            yield finding("key-trusted", "tokens", message, head.place("auth", name))


def _source(key: VerifyingKey) -> str:
    return f"'{key.jwks_url}'" if key.jwks_url else f"the key in env '{env_name(key.key or '')}'"


def compare_reviews(old: Review, new: Review) -> Iterator[Loosened]:
    """Yield the requirements that `review:` no longer has."""
    if (old.main, new.main) == ("proposals", "direct"):
        yield "pushing to main directly is allowed", ("review", "main")
    if new.approvals < old.approvals:
        yield f"needs {new.approvals} approvals, not {old.approvals}", ("review", "approvals")
    was, now = old.destructive.approvals, new.destructive.approvals
    if now < was:
        yield f"a loss needs {now} approvals, not {was}", ("review", "destructive", "approvals")
    before, after = old.max_removed_percent, new.max_removed_percent
    if before is not None and (after is None or after > before):
        allowed = "any share" if after is None else f"{after} %"
        message = f"{allowed} of the files may be removed, not {before} %"
        yield message, ("review", "maxRemovedPercent")
    if (old.agents, new.agents) == ("propose", "merge"):
        yield "agents may merge", ("review", "agents")
    if (old.source, new.source) == ("forge", "server"):
        yield "reviews of pull requests on the forge are not required", ("review", "source")
    if old.signed is not None and new.signed != old.signed:
        yield from _compare_signed(old.signed, new.signed)


def _compare_signed(old: SignedReview, new: SignedReview | None) -> Iterator[Loosened]:
    if new is None:
        yield "commits need no signature", ("review", "signed")
        return
    for key, was, now in (("signers", old.signers, new.signers), ("keys", old.keys, new.keys)):
        if now is not None and now != was:
            yield f"signers in '{now}' count", ("review", "signed", key)
