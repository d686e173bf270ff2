"""Ask a running server about its projects: all of bbops that speaks HTTP, but for `replay`.

One file for each subject; `connection` is what they have in common.
"""

from __future__ import annotations

from bbops.remote.drafts import Drafts
from bbops.remote.frontends import Frontends
from bbops.remote.projects import Projects
from bbops.remote.proposals import Proposals
from bbops.remote.publications import Publications
from bbops.remote.signing_in import SigningIn

__all__ = ["Remote"]


class Remote(Projects, Frontends, Drafts, Publications, Proposals, SigningIn):
    """The control plane of one server, and all that is asked there. Use it in a `with` block."""
