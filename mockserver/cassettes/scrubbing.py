"""What is kept of a request and its answer: no credential, no header beyond those listed, nothing that a user's rule
leaves out. What is asked live is made alike before it is looked up, so that it equals what was recorded.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from urllib.parse import quote_plus, unquote_plus

from mockserver.cassettes.allowed import Allowed, allowed
from mockserver.cassettes.credentials import LARGEST, PLACEHOLDER, Credentials, credentials_of
from mockserver.cassettes.headers import REQUEST
from mockserver.cassettes.replies import scrubbed
from mockserver.cassettes.scrubs import Scrubs
from mockserver.core.episode import Episode, Sent
from mockserver.core.errors import CassetteError
from mockserver.core.http import Headers
from mockserver.core.json_text import compact, parsed
from mockserver.core.secrets import Places, credentials, is_secret_header
from mockserver.kinds.cassettes import Scrub


@dataclass(frozen=True)
class Scrubber:
    """Scrubs by a user's rules, the secrets of the environment, and what a user allows to be kept.

    `headers` are those of requests that are kept beside the usual ones, as they are compared.
    """

    scrubs: tuple[Scrub, ...] = ()
    known: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()

    def request(self, sent: Sent) -> Sent:
        """A live request as a recording would have it, but with all its headers; the very object, if it is the same."""
        told, kept = _head(sent.headers, self._compared)
        placed = _of_body(sent)
        if not (self.scrubs or placed or self._compares_credentials):
            away = self._away(told)
            head = f"{sent.path}\n{sent.query}\n{kept}".encode("utf-8", "surrogateescape")
            if not (away.are_in(sent.body) or away.are_in(head)):
                return sent
        return self._sent(sent, told, placed)

    def episode(self, episode: Episode, secrets: Iterable[str] = ()) -> Episode:
        """What is kept of an episode; `secrets` are values that came with it from elsewhere: the upstream's own key.

        Raises CassetteError where there are too many credentials to be found again, or a rule takes too long.
        """
        sent, reply = episode.request, episode.reply
        placed, told = _of_body(sent), (*_head(sent.headers, ())[0], *secrets)
        of_reply = self._away((*told, *placed))
        if of_reply.too_many:
            raise CassetteError(
                f"the request has over {LARGEST} letters of credentials: they could not be found again in the answer, "
                "so nothing is recorded"
            )
        return replace(
            episode,
            model=self._model(episode.model, of_reply),
            request=self._sent(replace(sent, headers=REQUEST.of(sent.headers, self._compared)), told, placed),
            reply=scrubbed(reply, of_reply, self._rules),
        )

    @cached_property
    def _rules(self) -> Scrubs:
        return Scrubs(self.scrubs)

    @cached_property
    def _allows(self) -> Allowed:
        return allowed(self.allowed)

    @cached_property
    def _in_place(self) -> Places:
        """What takes credentials out of their own places, however short they are."""
        return Places(lambda value: value if value in self._allows else PLACEHOLDER)

    @cached_property
    def _compared(self) -> tuple[str, ...]:
        return tuple(name.lower() for name in self.headers)

    @cached_property
    def _compares_credentials(self) -> bool:
        return any(map(is_secret_header, self._compared))

    def _away(self, values: tuple[str, ...]) -> Credentials:
        return credentials_of(value for value in (*self.known, *values) if value not in self._allows)

    def _sent(self, sent: Sent, told: tuple[str, ...], placed: tuple[str, ...]) -> Sent:
        away = self._away((*told, *placed))
        query, body = sent.query, sent.body
        if placed:
            query = self._in_place.query(query.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
            body = self._in_place.body(body)
        query, body = self._query(away.text(query)), self._rules.body(away.data(body))
        path, headers = self._text(sent.path, away), self._headers(sent.headers, away)
        if body is sent.body and query == sent.query and path == sent.path and headers is sent.headers:
            return sent
        return replace(sent, path=path, query=query, headers=headers, body=body)

    def _headers(self, headers: Headers, away: Credentials) -> Headers:
        """Headers of a request; those that are not kept stay as they are, if they are still there."""
        left = tuple((name, self._header(name, value, away)) for name, value in headers)
        return headers if left == headers else left

    def _header(self, name: str, value: str, away: Credentials) -> str:
        if not REQUEST.has(name) and name not in self._compared:
            return value
        if is_secret_header(name):
            ((_, raw),) = self._in_place.headers(((name.encode(), value.encode("latin-1", "replace")),))
            value = raw.decode("latin-1")
        return self._text(value, away)

    def _text(self, text: str, away: Credentials) -> str:
        return self._rules.text(away.text(text))

    def _query(self, query: str) -> str:
        """A query with the user's rules applied to its values as they are meant."""
        return "&".join(map(self._pair, query.split("&"))) if self.scrubs and query else query

    def _pair(self, pair: str) -> str:
        name, equals, value = pair.partition("=")
        meant = unquote_plus(value, errors="surrogateescape")
        left = self._rules.text(meant)
        return pair if left == meant else name + equals + quote_plus(left, "<>", errors="surrogateescape")

    def _model(self, model: str, away: Credentials) -> str:
        """The model's name, as the request's body would have it."""
        left = parsed(self._rules.either(compact({"model": away.text(model)}))) if self.scrubs else None
        return str(left["model"]) if left else away.text(model)


@lru_cache(256)
def _head(headers: Headers, more: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The credentials in a request's headers; and the values that are kept, in one."""
    told = [
        (name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        for name, value in headers
        if is_secret_header(name)
    ]
    kept = "\n".join(value for _, value in REQUEST.of(headers, more))
    return tuple(credentials(tuple(told))), kept


def _of_body(sent: Sent) -> tuple[str, ...]:
    """Those in its query and its body."""
    return tuple(credentials((), sent.query.encode("utf-8", "surrogateescape"), sent.body))
