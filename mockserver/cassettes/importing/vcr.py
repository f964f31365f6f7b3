"""Cassettes of vcrpy, with or without pytest-recording: interactions, whose bodies come in many ways."""

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from mockserver.cassettes.importing.foreign import Foreign, Left, UnfitError, encoded, listed, moment
from mockserver.core.json_text import Json, compact


class Lines(Protocol):
    """Where interactions stand."""

    def where(self, at: int) -> str:
        """How the place of one is told."""

    def broken(self, at: int) -> str:
        """What is wrong with one as YAML, if anything is."""


def of_vcr(interactions: Sequence[Json], lines: Lines) -> Iterator[Foreign | Left]:
    """The exchanges of a cassette."""
    for at, interaction in enumerate(interactions):
        broken = lines.broken(at)
        try:
            yield Left(lines.where(at), broken) if broken else _foreign(interaction, lines.where(at))
        except UnfitError as unfit:
            yield Left(lines.where(at), str(unfit))


def _foreign(interaction: Mapping[str, Json], where: str) -> Foreign:
    request, response = interaction.get("request"), interaction.get("response")
    if not isinstance(request, Mapping) or not isinstance(response, Mapping):
        raise UnfitError("it has no request and response")
    url = request.get("uri", request.get("url"))
    if not isinstance(url, str):
        raise UnfitError("its request has no uri")
    return Foreign(
        where=where,
        method=str(request.get("method") or "GET").upper(),
        url=url,
        headers=listed(request.get("headers")),
        body=_body(request),
        status=_status(response),
        reply_headers=listed(response.get("headers")),
        reply=_body(response),
        at=moment(interaction.get("recorded_at")),
    )


def _status(response: Mapping[str, Json]) -> int:
    status = response.get("status")
    code = status.get("code") if isinstance(status, Mapping) else status
    return code if isinstance(code, int) else 0


def _body(message: Mapping[str, Json]) -> bytes:
    """A body: text, bytes, JSON that was parsed, or a table that holds one of these. Raises UnfitError."""
    if message.get("parsed_body") is not None:
        return encoded(compact(message["parsed_body"]))
    return _bytes(message.get("body", message.get("content")))


def _bytes(body: Json) -> bytes:
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return encoded(body)
        case {"base64_string": str(coded)}:
            return _decoded(coded)
        case {"string": held}:
            return _bytes(held)
        case Mapping() if not body:
            return b""
    raise UnfitError("its body is neither text nor base64")


def _decoded(coded: str) -> bytes:
    try:
        return b64decode("".join(coded.split()), validate=True)
    except ValueError:
        raise UnfitError("its body is not the base64 that it is said to be") from None
