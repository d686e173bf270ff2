"""How long it takes to know what an agent's token opens, in CPU time."""

from __future__ import annotations

import random
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from time import thread_time

from bbops_server.accounts.book import Book
from bbops_server.accounts.grants import Approval, add_grant
from bbops_server.accounts.issuing import add_tokens, make_tokens
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Role
from bbops_server.accounts.store import Store
from tests.bench.figures import Figure

MCP = "https://bbops.example.com/mcp"
TOKENS = 10_000


def measure(folder: Path, *, checks: int) -> list[Figure]:
    """Look tokens up that were not seen for a while, and then again."""
    folder.mkdir()
    store = Store.open(folder)
    with closing(Book(store)) as book:
        tokens = _fill(store, book)
        some = random.Random(7).sample(tokens, 500)  # as many as are asked in 5 s, and known then
        _time(book, some)
        store.edition = object()  # something was written
        first = _time(book, some)
        known = _time(book, random.Random(8).choices(some, k=checks))
    return [
        Figure(f"knowing a token of {TOKENS:,}, looked up", first, "µs"),
        Figure(f"knowing a token of {TOKENS:,}, remembered", known, "µs", 20),
    ]


def _fill(store: Store, book: Book) -> list[str]:
    people = [
        book.people.add(NewPerson(f"p{number}@example.com", role=Role.VIEWER)).id
        for number in range(TOKENS // 100)
    ]
    approval, now, found = Approval("c1", "Agent", frozenset(), MCP), store.now(), []
    with store.writing() as connection:
        for number in range(TOKENS):
            person = people[number % len(people)]
            grant = add_grant(connection, person, approval, now, now + timedelta(hours=1))
            issued = make_tokens("project")
            add_tokens(connection, grant, issued, now)
            found.append(issued.access)
    return found


def _time(book: Book, tokens: list[str]) -> float:
    before = thread_time()
    for token in tokens:
        assert book.grants.find(token, MCP) is not None
    return 1e6 * (thread_time() - before) / len(tokens)
