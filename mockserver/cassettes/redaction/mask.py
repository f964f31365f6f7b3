"""The credentials of a request, masked in all that people are shown of it: journal, log lines, explanations, reports.

What finds them is what keeps them out of cassettes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from mockserver.cassettes.redaction.find import Credentials, Fields, Places, credentials, credentials_of, mask
from mockserver.cassettes.redaction.redact import as_told

MOST = 64  # values of one request that are looked for everywhere; further ones are masked in their own places


def secrets_of(headers: Fields, query: bytes = b"", body: bytes = b"", more: Iterable[str] = ()) -> "Secrets":
    """The credentials of a request; `more` are known from elsewhere."""
    found = dict.fromkeys((*more, *credentials(headers, query, body)))
    return Secrets(tuple(islice(found, MOST)))


@dataclass(frozen=True)
class Secrets:
    """Credentials. To mask a text takes time in proportion to its length. `instead`: what stands in place of one."""

    values: tuple[str, ...] = ()
    instead: Callable[[str], str] = mask

    def text(self, text: str) -> str:
        """The text without any of them."""
        return self._found.text(text)

    def data(self, data: bytes) -> bytes:
        """The same for bytes, such as an answer's body."""
        return self._found.data(data)

    def told(self, events: Sequence[str]) -> Sequence[str]:
        """What the events of an answer say, or its whole body, without those that are told in pieces."""
        return [event or "" for event in as_told(tuple(events), self._found)]

    def headers(self, headers: Fields) -> Fields:
        """Headers, in which what a credential's own header holds is masked however short it is."""
        return tuple((name, self.data(value)) for name, value in _PLACES.headers(headers))

    def query(self, query: bytes) -> bytes:
        """A query, likewise."""
        return self.data(_PLACES.query(query))

    def body(self, body: bytes) -> bytes:
        """The body of a request, likewise."""
        return self.data(_PLACES.body(body))

    @cached_property
    def _found(self) -> Credentials:
        return credentials_of(self.values, self.instead)


_PLACES = Places()
