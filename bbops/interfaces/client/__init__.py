"""Ask a running server about its projects: all of bbops that speaks HTTP, but for `replay`.

One file for each subject; `connection` is what they have in common.
"""

from __future__ import annotations

from bbops.interfaces.client.drafts import Drafts
from bbops.interfaces.client.frontends import Frontends
from bbops.interfaces.client.projects import Projects
from bbops.interfaces.client.proposals import Proposals
from bbops.interfaces.client.publications import Publications
from bbops.interfaces.client.signing_in import SigningIn

__all__ = ["Remote"]


class Remote(Projects, Frontends, Drafts, Publications, Proposals, SigningIn):
    """The control plane of one server, and all that is asked there. Use it in a `with` block."""
