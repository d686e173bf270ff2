"""The key `ci` of a project in `server.yaml`: workflows that can publish without a secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from bbops.base.model import Model
from bbops_server.settings.repositories import CiTrust, IssuerKind
from bbops_server.settings.server_file.webhook import check_issuer, wrong_value

GITHUB: Final = "https://token.actions.githubusercontent.com"
GITLAB: Final = "https://gitlab.com"
MAX_TRUSTS: Final = 20
_MAX_ID: Final = 10**18
_REF: Final = re.compile(r"refs/(heads|tags|pull|merge-requests)(/[^\s/*~^:?\[\\\x00-\x1f]+|/\*)+")
_PATH: Final = re.compile(r"[^\s/@\\]+(/[^\s/@\\]+)*\.ya?ml")


def _number(value: Any) -> Any:
    """Return the number in a text from the environment."""
    return int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value) else value


def _check_ref(text: str) -> str:
    if not _REF.fullmatch(text) or ".." in text:
        raise wrong_value(
            f"expected a full ref, got '{text}'",
            "such as refs/heads/main, or refs/pull/*/merge, where '*' is one whole segment",
        )
    return text


def _check_workflow(text: str) -> str:
    path, at, ref = text.partition("@")
    if not _PATH.fullmatch(path) or ".." in path or (at and not _names_ref(path, ref)):
        raise wrong_value(
            f"expected the file of a workflow, got '{text}'",
            "such as .github/workflows/bbops.yml,"
            " or owner/name/.github/workflows/bbops.yml@refs/heads/main",
        )
    return text


def _names_ref(path: str, ref: str) -> bool:
    is_commit = re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", ref) is not None
    is_ref = _REF.fullmatch(ref) is not None and "*" not in ref
    return path.count("/") > 1 and (is_commit or is_ref)


Id = Annotated[int, BeforeValidator(_number), Field(ge=1, le=_MAX_ID)]


class TrustedWorkflow(Model):
    """The claims that an identity token needs. `kind` is only needed for a GitLab of your own."""

    issuer: Annotated[str, AfterValidator(check_issuer)] = GITHUB
    kind: IssuerKind | None = None
    repository_id: Id
    owner_id: Id
    ref: Annotated[str, StringConstraints(max_length=250), AfterValidator(_check_ref)] | None = None
    environment: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = None
    workflow: (
        Annotated[str, StringConstraints(max_length=500), AfterValidator(_check_workflow)] | None
    ) = None


def check_kinds(trusted: Iterable[TrustedWorkflow]) -> None:
    """Require one kind for each issuer, whose tokens have the names of claims of that kind.

    Raises:
        PydanticCustomError: an issuer has two.
    """
    kinds: dict[str, IssuerKind] = {}
    for workflow in trusted:
        kind = _kind_of(workflow)
        if kinds.setdefault(workflow.issuer, kind) != kind:
            raise wrong_value(
                f"the issuer '{workflow.issuer}' is both of kind 'github' and of kind 'gitlab'",
                "give it the same 'kind' in each 'ci'",
            )


def _kind_of(workflow: TrustedWorkflow) -> IssuerKind:
    return workflow.kind or ("gitlab" if workflow.issuer == GITLAB else "github")


def read_trusts(project: str, branch: str, trusted: list[TrustedWorkflow]) -> Iterator[CiTrust]:
    """Yield the trusts of a project, whose default ref is the branch that it follows."""
    for workflow in trusted:
        kind = _kind_of(workflow)
        ids = str(workflow.repository_id), str(workflow.owner_id)
        ref = workflow.ref or f"refs/heads/{branch}"
        environment, path = workflow.environment or "", workflow.workflow or ""
        yield CiTrust(project, kind, workflow.issuer, *ids, ref, environment, path)
