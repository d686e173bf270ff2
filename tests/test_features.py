"""Features of a workspace: what is off is an error in a server's build, and names the cure."""

from __future__ import annotations

from bbops.check import validate
from bbops.compile.release import build
from bbops.tree import MemoryTree
from tests.conftest import sample

CHANNEL = "name: Public\nbasePath: /v1\nauthentication: None\n"


def test_a_channel_is_an_error_where_they_are_off() -> None:
    tree = MemoryTree(sample(channels__public=CHANNEL))
    assert validate(tree)[1] == ()
    assert build(tree).project is not None
    built = build(tree, off=["restChannels"])
    (found,) = built.diagnostics
    assert (built.project, found.code, found.place.file) == (
        None, "feature-off", "channels/public.yaml",
    )  # fmt: skip
    assert "bbops workspace set features.restChannels=on" in found.hint


def test_a_project_without_channels_does_not_mind() -> None:
    assert build(MemoryTree(sample()), off=["restChannels", "other"]).project is not None
