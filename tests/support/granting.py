"""Grants for tests, as people give them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256

from bbops_server.accounts.book import Book
from bbops_server.accounts.grants import Approval
from bbops_server.accounts.issuing import Issued, make_tokens
from bbops_server.accounts.people import Person
from bbops_server.accounts.rules import GrantScope

MCP = "https://bbops.example.com/mcp"
REDIRECT = "https://agent.example.com/callback"
VERIFIER = "v" * 43
CHALLENGE = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


def approve(
    book: Book, person: Person, *scopes: GrantScope, resource: str = MCP, project: str = ""
) -> str:
    """Return the code of a new grant."""
    approval = Approval("c1", "Agent", frozenset(scopes), resource, project)
    return book.issuing.approve(person.id, approval, REDIRECT, CHALLENGE)


def redeem(book: Book, code: str) -> Issued:
    """Return what a code becomes."""
    held = book.issuing.find_code(code)
    assert held is not None
    issued = make_tokens(held.scopes)
    assert book.issuing.redeem_code(held, issued)
    return issued


def give(
    book: Book, person: Person, *scopes: GrantScope, resource: str = MCP, project: str = ""
) -> str:
    """Return an access token that somebody gave an agent."""
    code = approve(book, person, *scopes, resource=resource, project=project)
    return redeem(book, code).access


def refresh(book: Book, key: str) -> Issued | None:
    """Return the next tokens; None when the key is good for none."""
    held = book.issuing.find_refresh(key)
    if held is None:
        return None
    issued = make_tokens(held.scopes)
    book.issuing.rotate(held, issued)
    return issued
