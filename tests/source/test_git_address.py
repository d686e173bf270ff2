"""Addresses of repositories: what is fetched from, and what people are shown of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bbops.base.errors import GitError
from bbops.source.git.address import Address, require_branch

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("text", "scheme", "shown", "name"),
    [
        ("https://example.org/team/shop.git", "https", "https://example.org/team/shop.git", "shop"),
        ("https://ada@example.org/shop", "https", "https://example.org/shop", "shop"),
        ("ssh://git@example.org:2222/shop.git/", "ssh", "ssh://example.org:2222/shop.git/", "shop"),
        ("git@example.org:team/shop.git", "ssh", "example.org:team/shop.git", "shop"),
        ("host:shop", "ssh", "host:shop", "shop"),
        ("file:///srv/git/shop.git", "file", "file:///srv/git/shop.git", "shop"),
        ("http://127.0.0.1:3000/shop", "http", "http://127.0.0.1:3000/shop", "shop"),
        ("git://localhost/shop", "git", "git://localhost/shop", "shop"),
    ],
)
def test_an_address_is_understood(text: str, scheme: str, shown: str, name: str) -> None:
    assert Address.parse(text) == Address(text, scheme, shown, name)


@pytest.mark.parametrize("text", [".", "shop", "/srv/git/shop.git", "../a b", "a/b:c", "", "-x"])
def test_a_path_is_no_address(text: str) -> None:
    assert Address.parse(text) is None


def test_a_folder_with_a_colon_in_its_name_is_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("host:shop").mkdir()
    assert Address.parse("host:shop") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("https://ada:hunter2@example.org/a", "'https://example.org/a' was given with a password"),
        ("ssh://ada:hunter2@example.org/a", "was given with a password"),
        ("https://:hunter2@example.org/a", "was given with a password"),
        ("https://hunter2" + "x" * 30 + "@example.org/a", "a token as its user name"),
        ("https://example.org/a?token=hunter2", "was given with more than a path"),
        ("http://example.org/a", "would be transferred without encryption"),
        ("git://example.org/a", "would be transferred without encryption"),
        ("ftp://example.org/a", "'ftp' is not a supported protocol"),
        ("ext::sh -c 'x'", "'ext' is not a supported protocol"),
        ("ext://sh", "'ext' is not a supported protocol"),
        ("https:///a", "does not name a repository"),
        ("https://example.org/", "does not name a repository"),
        ("https://example.org:port/a", "is not a repository URL"),
        ("ssh://-oProxyCommand=x/a", "is not a valid host name"),
        ("https://example.org/a b", "contains a space or control character"),
        ("git@host:a\nb", "contains a space or control character"),
    ],
)
def test_what_is_not_fetched_from_is_refused_with_the_cure(text: str, words: str) -> None:
    with pytest.raises(GitError) as raised:
        Address.parse(text)
    assert words in raised.value.message
    assert "hunter2" not in str(raised.value)


@example("\uff03", "https")  # Python's own words about it repeat the password
@given(st.text(max_size=40), st.sampled_from(["https", "ssh", "file", "http"]))
def test_a_password_is_in_no_message_and_no_address(rest: str, scheme: str) -> None:
    try:
        told = str(Address.parse(f"{scheme}://ada:hunter2@{rest}"))
    except GitError as error:
        told = str(error)
    assert "ada:hunter2" not in told


@pytest.mark.parametrize("name", ["main", "release/1.0", "ü", "a-b_c", "feature/x.y"])
def test_names_of_branches_are_taken(name: str) -> None:
    assert require_branch(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "-q", "a b", "m*", "a:b", "a..b", "a~1", "a^", "a?", "a[", "a\\b", "a@{1}", "/a",
     "a/", "a//b", ".a", "a/.b", "a.lock", "a.", "a\nb", "main:refs/heads/x"],
)  # fmt: skip
def test_what_could_be_more_than_a_name_is_refused(name: str) -> None:
    with pytest.raises(GitError, match="is not a valid branch name"):
        require_branch(name)
