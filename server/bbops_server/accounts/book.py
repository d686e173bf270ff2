"""The book of accounts: one control database and its queries."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from bbops.base.host import Clock
from bbops.database.schema.place import PostgresPlace
from bbops_server.accounts.addresses import Addresses
from bbops_server.accounts.audit import Audit
from bbops_server.accounts.ci_tokens import CiTokens
from bbops_server.accounts.clients import Clients
from bbops_server.accounts.grants import Grants
from bbops_server.accounts.invitations import Invitations
from bbops_server.accounts.issuing import Issuing
from bbops_server.accounts.logins import Devices
from bbops_server.accounts.members import Members
from bbops_server.accounts.people import People
from bbops_server.accounts.playground import PlaygroundCalls
from bbops_server.accounts.proposals import Proposals
from bbops_server.accounts.sessions import Sessions
from bbops_server.accounts.store import Store
from bbops_server.accounts.tokens import Tokens
from bbops_server.accounts.workspace import Workspaces


class Book:
    """Accounts and their permissions. Each call is a transaction, and blocks."""

    def __init__(self, store: Store) -> None:
        self.people, self.members = People(store), Members(store)
        self.sessions, self.tokens = Sessions(store), Tokens(store)
        self.invitations, self.workspaces = Invitations(store), Workspaces(store)
        self.audit, self.proposals = Audit(store), Proposals(store)
        self.grants, self.issuing = Grants(store), Issuing(store)
        self.devices, self.clients = Devices(store), Clients(store)
        self.addresses, self.ci_tokens = Addresses(store), CiTokens(store)
        self.playground = PlaygroundCalls(store)
        self._store = store

    @classmethod
    def open(
        cls, state: Path, clock: Clock | None = None, postgres: PostgresPlace | None = None,
        *, must_exist: bool = False,
    ) -> Self:  # fmt: skip
        """Open the book of a state folder, or create it.

        Args:
            state: the folder.
            clock: the clock of the system by default.
            postgres: the database of the book, if it is not a file in the folder.
            must_exist: whether to refuse to create one.

        Raises:
            DatabaseError: it cannot be opened.
        """
        return cls(Store.open(state, clock, postgres, must_exist=must_exist))

    @property
    def edition(self) -> object:
        """Replaced after each write of this process that may change permissions."""
        return self._store.edition

    def renew_edition(self) -> None:
        """Replace the edition after a change of the accounts by another process."""
        self._store.edition = object()

    def close(self) -> None:
        """Close the connections."""
        self._store.close()
