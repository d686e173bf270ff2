"""The owners of files by CODEOWNERS, as GitLab reads it."""

from __future__ import annotations

import pytest

from bbops_server.publish.forge_reviews.owners import parse_sections

TEXT = """\
# everything
* @ada
*.yaml  @acme/backend ops@example.com  # and by mail
/docs/* @writer
build @builder
\\#x @sharp
a\\ b.txt @space

[Data][2] @acme @bob
/tables/
tables/free.yaml @cyd
*.log

^[Style] @mallory
*
[DATA] @eve
lib/**/x.py
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README.md", ("ada",)),
        ("deep/.hidden", ("ada",)),
        ("functions/a.yaml", ("acme/backend", "ops@example.com")),
        ("docs/a.md", ("writer",)),
        ("docs/deep/a.md", ("ada",)),
        ("x/build", ("builder",)),
        ("build/x", ("ada",)),
        ("#x", ("sharp",)),
        ("a b.txt", ("space",)),
        ("tables/a.md", ("ada", "acme", "bob")),
        ("other/tables/a.md", ("ada",)),
        ("other/tables/free.yaml", ("acme/backend", "ops@example.com", "cyd")),
        ("lib/x.py", ("ada", "eve")),
        ("lib/a/b/x.py", ("ada", "eve")),
    ],
)
def test_last_match_of_each_section_names_its_owners(path: str, owners: tuple[str, ...]) -> None:
    found = parse_sections(TEXT)
    assert (found.owners_of(path), found.unsupported) == (owners, ())


def test_section_demands_its_number_of_approvals() -> None:
    owners = parse_sections(TEXT)
    approved = {"ada": {"ada"}, "acme": {"ada"}, "bob": set[str]()}
    assert owners.approvals == 2
    assert owners.find_unowned(["tables/a.md", "README.md"], approved) == {
        "tables/a.md": ("acme", "bob (2 approvals)")
    }
    assert owners.find_unowned(["tables/a.md"], {**approved, "acme": {"ada", "cyd"}}) == {}


def test_optional_section_demands_nothing_unless_it_is_also_required() -> None:
    assert parse_sections("^[Docs] @ada\n*\n").owners_of("a") == ()
    assert parse_sections("^[Docs] @ada\n*\n[docs] @bob\n*.md\n").owners_of("a") == ("ada",)


def test_repeated_pattern_replaces_the_owners_at_its_first_place() -> None:
    found = parse_sections("*.md @ada\n/a.md @bob\n*.md @cyd\n")
    assert (found.owners_of("a.md"), found.owners_of("b.md")) == (("bob",), ("cyd",))


def test_line_without_an_owner_has_none() -> None:
    assert parse_sections("* @ada\n*.md\n").owners_of("a.md") == ()
    assert parse_sections("[Docs] @ada\n*.md # nobody\n").owners_of("a.md") == ()


@pytest.mark.parametrize(
    "line",
    ["!keep @ada", "x[ab].txt @ada", "* @@maintainer", "* (@ada)", "[Docs", "[] @ada", "[a] x [b]@",
     "^[Docs][2] @ada", "[ab].txt @ada,@bob", "[codeowners] @ada"],
)  # fmt: skip
def test_line_in_another_syntax_is_reported(line: str) -> None:
    assert parse_sections(f"* @ada\n{line}\n").unsupported == (2,)


def test_pattern_matches_whole_names_within_a_folder() -> None:
    found = parse_sections("/a?c/*.ya*l @ada\n")
    assert found.owners_of("abc/x.yaml") == ("ada",)
    for path in ("a/c/x.yaml", "abc/d/x.yaml", "x/abc/x.yaml", "abc/xyaml"):
        assert found.owners_of(path) == ()
