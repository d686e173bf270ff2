"""What two databases say differently of work: a few parts of statements, and who is alive."""

from __future__ import annotations

from typing import Protocol


class Dialect(Protocol):
    """Parts of statements. Rows and lists cross as JSON texts, one parameter each."""

    most_at_once: int
    """Events that one `pump` moves, and jobs or ticks that one look makes ready."""

    new_jobs: str
    """A table `j` of the rows of a JSON text, with the columns of NewJob and `ord`."""

    new_events: str
    """A table `j` of the rows of a JSON text: ord, name, key, payload, at, cause, depth."""

    new_ticks: str
    """A table `j` of the rows of a JSON text: task, at, next_at, uid, overlap, ord, schedule and
    run_at."""

    new_keys: str
    """A table `j` of the rows of a JSON text: key, until."""

    new_wakes: str
    """A table `j` of the rows of a JSON text: event, value."""

    new_ends: str
    """A table `j` of the rows of a JSON text: job, fenced, outcome, value."""

    new_records: str
    """A table `j` of four lists: job, fenced, path, result; empty where lists are no parameters."""

    ids: str
    """A query of the numbers of a JSON text."""

    texts: str
    """A query of the texts of a JSON text."""

    among: str
    """A condition behind a column, with `{}` for a query: its value is among the query's."""

    skips_locked: str
    """Ends a query of rows to take: what others are taking is left to them."""

    shares: str
    """Ends a query of one row that must stay as it is until the transaction ends."""

    locks_jobs: str
    """Ends a query of `_bbops_jobs`: its rows stay as they are until the transaction ends."""

    locks_pump: str
    """A statement that keeps other pumps away until the transaction ends; empty without need."""

    locks_lanes: str
    """A statement that does so with the lanes of a JSON text; empty without need."""

    dead_owners: str
    """A condition on `owner`: its worker is dead. It takes this worker's own name."""

    names_cause: str
    """Says in a transaction which job changes rows, for SQL triggers: job, depth."""

    ends_cause: str
    """Ends that; empty where the end of the transaction does."""

    snapshot_age: str
    """A query of the age of the oldest snapshot that keeps old rows, in seconds; empty without
    a way to read it."""

    def __hash__(self) -> int:
        """Statements are made once for each."""
        ...
