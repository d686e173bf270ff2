"""The rights of the server's token on Gitea or Forgejo.

A token does not list its scopes. So each scope is tried by a request that changes nothing: a write
of a comment or pull request that cannot exist. The forge checks the scope first (403).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from bbops_server.forges.hosted import ForgeConflict, ForgeForbidden, ForgeGone, ForgeRejected
from bbops_server.forges.on_gitea.reports import COMMENTS
from bbops_server.forges.on_gitea.repository import USERS, WRITE, GiteaRepository
from bbops_server.forges.values import ForgeRight

PUSH: Final = "write access to the repository"
PURPOSES: Final[Mapping[str, str]] = {
    USERS: "finds the name of the token's user, and of users who signed in",
    WRITE: "reports checks, pushes drafts, merges pull requests and creates releases",
    PUSH: "lets the token's user do so",
    COMMENTS: "comments pull requests",
}
"""The purpose of each right, by the name of its scope."""

_NO_REF: Final = "bbops/does/not/exist"
_NO_PULL: Final = {"title": "bbops", "head": _NO_REF, "base": _NO_REF}


class _Permissions(msgspec.Struct):
    push: bool = False


class _VisibleRepository(msgspec.Struct):
    permissions: _Permissions = msgspec.field(default_factory=_Permissions)


class GiteaRights(GiteaRepository):
    """Checks the token's rights."""

    async def check_rights(self) -> Sequence[ForgeRight]:
        """Return the rights that the server needs, and whether the token has each.

        Raises:
            ForgeError: the token is not valid, or the forge cannot be reached.
        """
        comment = {"body": "bbops"}
        granted = {
            USERS: await self._try("GET", "/user"),
            WRITE: await self._try("POST", f"{self.root}/pulls", _NO_PULL, is_gone=False),
            PUSH: False, COMMENTS: False,
        }  # fmt: skip
        if (permissions := await self._read_permissions()) is not None:
            granted[PUSH] = permissions.push
            granted[COMMENTS] = await self._try(
                "PATCH", f"{self.root}/issues/comments/0", comment
            )  # fmt: skip
        return [ForgeRight(name, PURPOSES[name], granted[name]) for name in PURPOSES]

    async def _read_permissions(self) -> _Permissions | None:
        """Return the permissions of the token's user; None for an invisible repository."""
        try:
            return (await self.api.get(self.root, _VisibleRepository)).permissions
        except ForgeRejected:
            raise
        except (ForgeForbidden, ForgeGone):
            return None

    async def _try(
        self, method: str, path: str, body: Any = None, *, is_gone: bool = True
    ) -> bool:  # fmt: skip
        """Return whether the token may send a request.

        Args:
            method: the method.
            path: below the API's address.
            body: the body of a write.
            is_gone: whether the right is there if the forge finds nothing at the path.
        """
        try:
            if method == "GET":
                await self.api.read(path)
            else:
                await self.api.send(method, path, body)
        except ForgeRejected:
            raise
        except ForgeGone:
            return is_gone
        except ForgeForbidden:
            return False
        except ForgeConflict:  # the right is there, the value is not valid
            return True
        return True
