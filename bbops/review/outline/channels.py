"""Channels, with the endpoints in them."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.language.project import Resource
from bbops.language.resources.channel import Channel, Cors
from bbops.review.outline.outline import ChannelOutline, CorsOutline
from bbops.review.outline.places import first_line
from bbops.review.outline.relations import Relations


def outline_channels(relations: Relations) -> Iterator[ChannelOutline]:
    """Yield the channels of a project by name."""
    inside = relations.endpoints_of_channels
    for name, channel in sorted(relations.project.channels.items()):
        yield _outline(channel, inside.get(name, ()))


def _outline(channel: Resource[Channel], endpoints: tuple[str, ...]) -> ChannelOutline:
    model = channel.model
    return ChannelOutline(
        name=channel.name,
        title=model.name,
        file=channel.file,
        line=first_line(channel, "name"),
        base_path=model.base_path,
        authentication=model.authentication,
        roles=tuple(model.roles or ()),
        rate_limit=str(model.rate_limit) if model.rate_limit.limit else "",
        cors=_cors(model.cors),
        middleware=tuple(model.middleware),
        timeout=model.timeout or "",
        max_body=model.max_body or "",
        history=model.history or "meta",
        endpoints=endpoints,
    )


def _cors(cors: Cors) -> CorsOutline:
    return CorsOutline(
        tuple(cors.origins), tuple(cors.methods), tuple(cors.headers), tuple(cors.expose),
        cors.credentials, cors.max_age,
    )  # fmt: skip
