"""Full ids of commits and plans, by which users approve them.

A decision names all digits: two commits whose ids begin with the same 12 digits
can be made in minutes, so a shortened id does not show which of the two was read.
"""

from __future__ import annotations

from bbops.base.errors import ServerError


def is_full_id(named: str, expected: str, what: str = "commit") -> bool:
    """Return whether a user has named an object by its full id, in any case.

    Args:
        named: the id in the decision.
        expected: the full id of the object.
        what: the kind of the object, for errors.

    Raises:
        ServerError: it is the shortened id of the object.
    """
    if named.lower() == expected:
        return True
    if named and expected.startswith(named.lower()):
        raise ServerError(
            f"'{named}' is a shortened id, which another {what} can have, too",
            hint=f"compare all digits of {expected} with the {what} that you have read",
        )
    return False
