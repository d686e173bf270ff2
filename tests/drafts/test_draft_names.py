"""What a branch is called in an address: nobody takes the address of somebody else's draft."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bbops_server.publish.drafts.draft_names import choose, host_label, slug_of


def test_a_plain_word_is_its_own_name_and_others_get_a_mark() -> None:
    assert slug_of("cart-2") == "cart-2"
    assert slug_of("release-20240101") == "release-20240101"
    assert slug_of("feature/Cart").startswith("feature-cart-")


@given(st.text(alphabet="aB1/-_", min_size=1, max_size=60))
def test_a_branch_cannot_be_named_after_the_address_of_another_one(branch: str) -> None:
    address = slug_of(branch)
    if address != branch:
        assert slug_of(address) != address


def test_a_mark_is_too_long_to_be_found_by_trying() -> None:
    tried = {f"feature/{'_' * (n % 97)}{'/' * (n // 97)}cart" for n in range(20_000)}
    assert len({slug_of(one) for one in tried}) == 20_000


def test_a_label_of_a_host_is_no_longer_than_dns_allows() -> None:
    label = host_label("x" * 40 + "-0123456789ab", "p" * 40)
    assert len(label) == 63
    assert label != host_label("x" * 40 + "-0123456789ab", "p" * 41)


def test_proposals_and_drafts_in_use_keep_their_places() -> None:
    pushed = [f"flood-{number}" for number in range(5)]
    assert choose([*pushed, "used", "proposal-1", "asleep"], {"used"}, 4) == [
        "proposal-1", "used", "flood-0", "flood-1",
    ]  # fmt: skip
    assert choose(["b", "a"], (), 1) == ["b"]
