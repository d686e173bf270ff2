"""The owners of files by CODEOWNERS, as GitHub reads it."""

from __future__ import annotations

import pytest

from bbops_server.publish.forge_reviews.owners import parse_owners

pytestmark = pytest.mark.quick

TEXT = """\
# everything
*                @ada
*.yaml           @acme/backend  ops@example.com   # and by mail
/tables/         @Bob
docs/*           @writer
apps/            @octo
**/logs          @logger
/tables/free.yaml
a\\ b.txt        @space
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README.md", ("ada",)),
        ("functions/a.yaml", ("acme/backend", "ops@example.com")),
        ("tables/notes.yaml", ("bob",)),
        ("tables/old/notes.yaml", ("bob",)),
        ("other/tables/notes.yaml", ("acme/backend", "ops@example.com")),
        ("docs/start.md", ("writer",)),
        ("docs/deep/start.md", ("ada",)),
        ("some/apps/x.js", ("octo",)),
        ("some/logs/x.txt", ("logger",)),
        ("tables/free.yaml", ()),
        ("a b.txt", ("space",)),
    ],
)
def test_last_matching_line_names_the_owners(path: str, owners: tuple[str, ...]) -> None:
    found = parse_owners(TEXT)
    assert (found.owners_of(path), found.unsupported) == (owners, ())


def test_file_without_an_approving_owner_is_listed() -> None:
    owners = parse_owners(TEXT)
    files = ["README.md", "functions/a.yaml", "tables/free.yaml"]
    assert owners.find_unowned(files, {"ada": {"ada"}}) == {
        "functions/a.yaml": ("acme/backend", "ops@example.com")
    }
    assert owners.find_unowned(files, {"ada": {"ada"}, "acme/backend": {"bob"}}) == {}
    assert list(owners.find_unowned(files, {"ada": ()})) == files[:2]


@pytest.mark.parametrize(
    "line", ["!keep @ada", "[Docs] @ada", "^[Docs]", "x[ab].txt @ada", "\\#x @ada"]
)
def test_line_in_another_syntax_is_reported(line: str) -> None:
    assert parse_owners(f"* @ada\n{line}\n").unsupported == (2,)


def test_empty_file_has_no_owners() -> None:
    assert parse_owners("").owners_of("a") == ()
