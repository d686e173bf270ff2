"""The page Roles, and the signed-in user at the top of each page."""

from __future__ import annotations

import re
from html import unescape

import pytest

from bbops_server.accounts.rules import RULES, Permission, Role
from tests.support.control import Tried, tried

__all__ = ["tried"]

WHO = re.compile(r'<a class="who" href="([^"]*)">(.*?)</a>', re.DOTALL)


def signed_in(page: str) -> tuple[str, str]:
    """Return the link and the text of the signed-in user."""
    found = WHO.findall(page)
    assert len(found) == 2  # the bar on top, and the sheet of phones
    link, text = found[0]
    return link, " ".join(re.sub(r"<[^>]+>", " ", text).split())


@pytest.mark.parametrize("role", [*Role])
def test_each_page_shows_the_user_with_the_role_in_its_project(tried: Tried, role: Role) -> None:
    tried.add("bob@example.com", project=role)
    browser = tried.as_person("bob@example.com")
    link, text = signed_in(browser.get("/projects/small").text)
    assert text.startswith("Signed in as")
    assert text.endswith(f" {role}")
    assert link == "/roles?project=small"
    assert signed_in(browser.get("/").text)[1].endswith("no role")
    page = browser.get(link).text
    assert f"In small your role is <strong>{role}</strong>" in page
    assert page.count("your role</span>") == 1


def test_roles_list_each_permission_once(tried: Tried) -> None:
    page = unescape(tried.as_person("ada@example.com").get("/roles").text)
    for permission in set(RULES) - {Permission.BE_ANYBODY}:
        assert page.count(f"<li>{permission} <span") == 1
    owner = page.partition('id="role-owner"')[2]
    assert "change the workspace" in owner
    assert "merge a proposal" not in owner
    assert "merge a proposal" in page.partition('id="role-maintainer"')[2]


def test_the_api_has_the_roles_of_the_caller_and_their_permissions(tried: Tried) -> None:
    tried.add("bob@example.com", project=Role.DEVELOPER)
    found = tried.as_person("bob@example.com").get("/api/roles").json()
    assert (found["workspace"], found["projects"]) == (None, {"small": "developer"})
    assert [each["role"] for each in found["roles"]] == ["", *Role]
    merge = {"permission": "merge a proposal", "where": "project", "token": "deploy"}
    assert merge in found["roles"][3]["adds"]


def test_an_unknown_project_is_not_named(tried: Tried) -> None:
    tried.add("bob@example.com")
    page = tried.as_person("bob@example.com").get("/roles?project=small").text
    assert "In small" not in page


def test_people_leads_to_the_roles(tried: Tried) -> None:
    assert 'href="/roles"' in tried.as_person("ada@example.com").get("/people").text
