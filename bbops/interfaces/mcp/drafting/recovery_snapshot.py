"""Give what is live a name: a tag in a name space of its own."""

from __future__ import annotations

from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.recovery_history import SNAPSHOT, snapshots
from bbops.interfaces.mcp.drafting.serialization import clean_message
from bbops.interfaces.mcp.project.recovery_snapshot import Named, Naming
from bbops.interfaces.mcp.tool import Call, Refused
from bbops.source.git.writing import add_tag


def do(bench: Bench, taken: Naming) -> Named:
    """Make the tag; that of the same name and commit is taken for it.

    Raises:
        Refused: another commit has the name.
    """
    bench.require_here()
    commit = bench.published or bench.head
    tag = bench.path(f"{SNAPSHOT}{taken.name}")
    message = " ".join(clean_message(taken.message).split()) or f"Snapshot {taken.name}"
    facts = f"\n\nAuthor: {bench.who.email}"
    if not add_tag(bench.store.place, tag, commit, message + facts):
        known = next((one.commit for one in snapshots(bench) if one.tag == tag), "")
        if known != commit:
            call = Call("recovery_history", {}, "see which names are taken")
            raise Refused(f"snapshot '{taken.name}' exists, of another commit", next=(call,))
    return Named(tag=tag, commit=commit)
