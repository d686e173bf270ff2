"""Values of environment variables, which an attacker may choose."""

from __future__ import annotations

import pytest

from bbops.interfaces.ci.environments._values import (
    read_address,
    read_branch,
    read_commit,
    read_field,
    read_number,
    read_path,
    read_repository,
)


@pytest.mark.parametrize("value", ["", "0" * 40, "a" * 39, "HEAD", "--all", "a" * 41, None, 7])
def test_other_texts_are_not_commits(value: object) -> None:
    assert read_commit(value) == ""


@pytest.mark.parametrize("value", ["a" * 40, "A" * 40, "b" * 64])
def test_whole_commit_ids_are_read_in_lower_case(value: str) -> None:
    assert read_commit(value) == value.lower()


@pytest.mark.parametrize("value", ["", "0", "-1", "1.5", "12; id", "1" * 11, True, None, "\u0661"])
def test_other_texts_are_not_numbers(value: object) -> None:
    assert read_number(value) == 0


@pytest.mark.parametrize(
    "value", ["..", "a", "a/..", "../a", "./a", "a b/c", "a/b?x", "a//b", ["a/b"]]
)
def test_other_texts_are_not_repositories(value: object) -> None:
    assert read_repository(value) == ""


@pytest.mark.parametrize("value", ["ada/shop", "shops/eu/shop", "ada/.github", "a.b-c/d_e"])
def test_owners_and_names_are_repositories(value: str) -> None:
    assert read_repository(value) == value


@pytest.mark.parametrize(
    "value", ["javascript:x", "https://a b", "https://a/)x", "https://a/\n", "file:///x"]
)
def test_other_texts_are_not_addresses(value: str) -> None:
    assert read_address(value) == ""


def test_ref_of_a_branch_becomes_its_name() -> None:
    assert read_branch("refs/heads/a/b") == "a/b"
    assert read_branch("a/b") == "a/b"
    assert read_branch("refs/tags/v1") == ""


def test_long_values_are_left_out() -> None:
    assert read_branch("x" * 2_001) == ""


@pytest.mark.parametrize("value", ["a\0b", "\ud800", "a\udfffb"])
def test_texts_that_git_cannot_be_given_are_left_out(value: str) -> None:
    assert not read_branch(value), ascii(value)


def test_path_with_a_null_byte_is_left_out() -> None:
    assert read_path("a\0b") is None
    assert read_path("") is None


def test_missing_fields_of_a_document_are_none() -> None:
    assert read_field({"a": {"b": 1}}, "a", "b") == 1
    assert read_field({"a": [1]}, "a", "b") is None
    assert read_field("text", "a") is None
