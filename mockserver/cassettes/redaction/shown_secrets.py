"""Masks the credentials of a request in all that people see of it."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import islice

from msgspec import Struct

from mockserver.cassettes.redaction.credential_fields import CredentialFields, Fields, find_credentials, mask
from mockserver.cassettes.redaction.credentials import Credentials, make_credentials
from mockserver.core.text import make_reprs

MAX_VALUES = 64  # of one request that are masked everywhere; further ones only in their fields


def find_secrets(headers: Fields, query: bytes = b"", body: bytes = b"", more: Iterable[str] = ()) -> "Secrets":
    """Return the credentials of a request; `more` are known from elsewhere."""
    found = dict.fromkeys(find_credentials(headers, query, body))
    return Secrets(tuple(dict.fromkeys((*more, *islice(found, MAX_VALUES)))))


class Secrets(Struct, frozen=True, dict=True):
    """Credentials to mask; `instead` gives the text to show. Linear in the length of a text."""

    values: tuple[str, ...] = ()
    instead: Callable[[str], str] = mask

    __repr__, __rich_repr__ = make_reprs("values")

    def mask_text(self, text: str) -> str:
        """Return a text without them."""
        return self._found.redact_text(text)

    def mask_bytes(self, data: bytes) -> bytes:
        """Return bytes without them; these bytes themselves if none is in them."""
        return self._found.redact(data)

    def mask_events(self, events: Sequence[str]) -> Sequence[str]:
        """Return the events of an answer, or its body, without those that are split across them."""
        return [event or "" for event in self._found.redact_events(tuple(events))]

    def mask_headers(self, headers: Fields) -> Fields:
        """Return headers without them; the values of credential headers are masked however short."""
        return tuple((name, self.mask_bytes(value)) for name, value in _MASKED_FIELDS.redact_headers(headers))

    def mask_query(self, query: bytes) -> bytes:
        """Return a query without them, and without the values of parameters for credentials."""
        return self.mask_bytes(_MASKED_FIELDS.redact_query(query))

    def mask_body(self, body: bytes) -> bytes:
        """Return a body without them, and without the values of fields for credentials."""
        return self.mask_bytes(_MASKED_FIELDS.redact_body(body))

    @cached_property
    def _found(self) -> Credentials:
        return make_credentials(self.values, self.instead)


_MASKED_FIELDS = CredentialFields()
