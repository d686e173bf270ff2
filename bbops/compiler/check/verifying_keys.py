"""Keys of somebody else whose tokens count too: each is told apart, and none means too much."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield keys of `auth.keys` with one id, and sets of keys that say too little, or too much."""
    settings, auth = project.settings, project.settings.model.auth
    if auth is None:
        return
    seen: set[tuple[str, str]] = set()
    for at, key in enumerate(auth.keys):
        place = settings.place("auth", "keys", at)
        if key.id is not None and (key.id, key.algorithm) in seen:
            yield Diagnostic(
                settings.place("auth", "keys", at, "id"), "verifying-key",
                f"two keys have the id '{key.id}'", "tokens name their key by this id",
            )  # fmt: skip
        seen.add((key.id or "", key.algorithm))
        if key.jwks_url is not None and key.algorithm.startswith("HS"):
            yield Diagnostic(
                place, "verifying-key", f"a JWKS has no keys for {key.algorithm}",
                "whoever can read a key of HS256 can sign with it; a JWKS contains "
                "keys of RS256, ES256 or EdDSA",
            )  # fmt: skip
        elif key.jwks_url is not None and auth.audience is None:
            yield Diagnostic(
                place, "verifying-key",
                "tokens that this issuer issued for other audiences are accepted, too",
                "set the audience they must have: 'auth: { audience: … }'", severity="warning",
            )  # fmt: skip
