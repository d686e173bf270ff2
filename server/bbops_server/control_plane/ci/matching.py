"""Find the one project whose trust an identity meets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bbops_server.control_plane.ci.identity import CiIdentity, RejectedClaim
from bbops_server.settings.repositories import CiTrust

_UNKNOWN = "which is not trusted here"
_OTHER = "which is not what the project requires"


class SeveralProjects(Exception):
    """Several projects trust the identity; `names` are their names."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        listed = ", ".join(names)
        super().__init__(f"several projects trust this workflow: name one of {listed} as 'project'")


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim with its required value; the reason names no setting of the server."""

    name: str
    found: str
    expected: str
    is_met: bool
    reason: str = _OTHER


def find_trust(identity: CiIdentity, trusts: Sequence[CiTrust]) -> CiTrust:
    """Return the trust that an identity meets.

    Args:
        identity: the verified identity.
        trusts: the trusts in its issuer, of one project or of all.

    Raises:
        RejectedClaim: it meets none; the claim is the first difference from the closest
            trust. Without a trust in the repository, that is always the repository.
        SeveralProjects: it meets the trusts of several projects.
    """
    met = [trust for trust in trusts if _find_difference(identity, trust) is None]
    names = sorted({trust.project for trust in met})
    if len(names) > 1:
        raise SeveralProjects(names)
    if met:
        return met[0]
    raise _closest(identity, trusts)


def _closest(identity: CiIdentity, trusts: Sequence[CiTrust]) -> RejectedClaim:
    differences = [found for trust in trusts if (found := _find_difference(identity, trust))]
    _, claim = max(differences, key=lambda found: found[0], default=(0, None))
    if claim is None:
        return RejectedClaim(identity.names.repository_id, identity.repository_id, _UNKNOWN)
    return RejectedClaim(claim.name, claim.found or None, claim.reason, claim.expected)


def _find_difference(identity: CiIdentity, trust: CiTrust) -> tuple[int, _Claim] | None:
    claims = enumerate(_compare(identity, trust))
    return next(((place, claim) for place, claim in claims if not claim.is_met), None)


def _compare(identity: CiIdentity, trust: CiTrust) -> Iterator[_Claim]:
    """Yield the claims, the identity of the repository first."""
    names = identity.names
    for name, found, expected in (
        (names.repository_id, identity.repository_id, trust.repository_id),
        (names.owner_id, identity.owner_id, trust.owner_id),
    ):
        yield _Claim(name, found, expected, found == expected, _UNKNOWN)
    yield _Claim(names.ref, identity.ref, trust.ref, trust.covers(identity.ref))
    is_met = trust.environment in {"", identity.environment}
    yield _Claim(names.environment, identity.environment, trust.environment, is_met)
    expected = _workflow_of(identity, trust)
    is_met = expected in {"", identity.workflow}
    yield _Claim(names.workflow, identity.workflow, expected, is_met)


def _workflow_of(identity: CiIdentity, trust: CiTrust) -> str:
    """Return the required workflow: a path alone is a file of this repository, at the run's ref."""
    path = trust.workflow
    return f"{identity.repository}/{path}@{identity.ref}" if path and "@" not in path else path
