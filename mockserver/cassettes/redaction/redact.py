"""Redacts recordings by header names, credentials and the user's rules."""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, lru_cache
from urllib.parse import quote_plus, unquote_plus

from msgspec import Struct
from msgspec.structs import replace

from mockserver.cassettes.event_lines import join_data, replace_data
from mockserver.cassettes.redaction.credential_fields import (
    CredentialFields,
    Fields,
    find_credentials,
    has_credential_fields,
    is_secret_field,
    is_secret_header,
)
from mockserver.cassettes.redaction.credentials import MAX_LETTERS, PLACEHOLDER, Credentials, make_credentials
from mockserver.cassettes.redaction.detect import AllowedSecrets, parse_allowed
from mockserver.cassettes.redaction.json_edit import EventTexts
from mockserver.cassettes.redaction.scrub_rules import RedactionRules
from mockserver.config.errors import CassetteError
from mockserver.config.settings import Scrub
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent
from mockserver.core.event_stream import is_prelude
from mockserver.core.http import HOP_BY_HOP, Headers, HttpRequest
from mockserver.core.json import compact, try_parse
from mockserver.core.text import make_reprs


class HeaderPolicy(Struct, frozen=True):
    """Headers to keep, by name or by prefix."""

    names: frozenset[str]
    prefixes: tuple[str, ...] = ()

    def select(self, headers: Headers, more: Collection[str] = ()) -> Headers:
        """Return the headers that are kept, in order, with lower-case names; `more` names further ones."""
        small = ((name.lower(), value) for name, value in headers)
        return tuple((name, value) for name, value in small if self.keeps(name) or (name in more and name not in NEVER))

    def keeps(self, name: str) -> bool:
        """Return whether a header is kept, by its name in lower case."""
        if name in self.names:
            return True
        return name.startswith(self.prefixes) and name not in NEVER | ACCOUNT and not is_secret_header(name)


REQUEST = HeaderPolicy(
    frozenset(
        (
            "accept", "content-type",
            "openai-beta", "anthropic-version", "anthropic-beta", "api-version", "x-api-version",
            "extra-parameters", "azureml-model-deployment",
            "x-stainless-retry-count", "x-goog-upload-command", "amz-sdk-request",
        )
    ),
    ("x-amzn-bedrock-",),
)  # fmt: skip

REPLY = HeaderPolicy(
    frozenset(
        (
            "content-type", "cache-control", "allow",
            "retry-after", "retry-after-ms", "x-should-retry",
            "x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "x-amzn-errortype",
            "x-debug-trace-id", "num_tokens", "num_chars", "x-endpoint-monthly-call-limit",
            "openai-processing-ms", "openai-version", "openai-model", "openai-poll-after-ms",
        )
    ),
    (
        "x-ratelimit-", "ratelimit-", "anthropic-ratelimit-", "x-trial-endpoint-",
        "x-ms-", "azureml-model-", "fireworks-", "x-goog-upload-", "x-amzn-bedrock-",
    ),
)  # fmt: skip

# Never kept: what belongs to one connection, one encoding of the body, or one visitor.
NEVER = HOP_BY_HOP | {
    "proxy-authenticate", "content-length", "content-encoding", "accept-encoding", "host", "date",
    "set-cookie", "set-cookie2",
}  # fmt: skip

# Whose request it is: a name and often a plain word, so its value is not replaced elsewhere.
ACCOUNT = frozenset(("openai-organization", "openai-project", "x-ms-client-principal-id"))


def redact_reply(reply: Recorded, hidden: Credentials, rules: RedactionRules) -> Recorded:
    """Return an answer without these credentials and without what the rules find.

    Texts split across events go first: in a single event, a rule may find only a part.
    """
    kept = (field for field in REPLY.select(reply.headers) if not hidden.are_in(field[0].encode("utf-8", "replace")))
    headers = tuple((name, rules.redact_text(hidden.redact_text(value))) for name, value in kept)
    if reply.frames is not None:
        return replace(reply, headers=headers, frames=_redact_frames(reply.frames, hidden, rules))
    was = reply.body.decode("utf-8", "surrogateescape")
    (joined,) = _redact_split_texts((was,), hidden, rules)
    body = reply.body if joined == was or joined is None else joined.encode("utf-8", "surrogateescape")
    return replace(reply, headers=headers, body=rules.redact_body(hidden.redact(body)))


def _redact_frames(
    frames: Sequence[RecordedEvent], hidden: Credentials, rules: RedactionRules
) -> tuple[RecordedEvent, ...]:
    was = tuple(join_data(frame) for _, frame in frames)
    joined = zip(frames, was, _redact_split_texts(was, hidden, rules), strict=True)
    left = ((at, _hide(_replace_if_changed(frame, old, new), hidden)) for (at, frame), old, new in joined)
    return tuple((at, _apply_rules(frame, rules)) for at, frame in left) if rules.rules else tuple(left)


def _hide(frame: bytes, hidden: Credentials) -> bytes:
    """Return a frame without these credentials; a message is written anew."""
    if not is_prelude(frame):
        return hidden.redact(frame)
    data = join_data(frame)
    return _replace_if_changed(frame, data, data if data is None else hidden.redact_text(data))


def _apply_rules(frame: bytes, rules: RedactionRules) -> bytes:
    data = join_data(frame)
    return frame if data in (None, _DONE) else _replace_if_changed(frame, data, rules.redact_any(data))


def _replace_if_changed(frame: bytes, old: str | None, new: str | None) -> bytes:
    return frame if new is None or new == old else replace_data(frame, new)


def _redact_split_texts(events: EventTexts, hidden: Credentials, rules: RedactionRules) -> EventTexts:
    return rules.redact_events(hidden.redact_events(events))


_DONE = "[DONE]"  # the end of a stream has no content


class Redactor(Struct, frozen=True, dict=True):
    """Redacts by the user's rules and the secrets that are `known` from the environment; `allowed` values stay.

    `headers` are request headers to keep besides the usual ones, because they are compared.
    """

    scrubs: tuple[Scrub, ...] = ()
    known: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()

    __repr__, __rich_repr__ = make_reprs("known")

    def may_change(self, http: HttpRequest) -> bool:
        """Return whether `redact_request` may change a live request. For most requests the answer is a quick no."""
        if self.scrubs or self._compares_credentials or http.query or has_credential_fields(http.body):
            return True
        secret: list[tuple[bytes, bytes]] = []
        others = [http.path.encode("utf-8", "surrogateescape"), http.body]
        for field in http.headers:
            if is_secret_field(field[0]):
                secret.append(field)
            else:
                others.append(field[1])
        return self._find_hidden(tuple(secret)).are_in(b"\n".join(others))

    def redact_request(self, sent: Sent) -> Sent:
        """Return a live request as it would be recorded, but with all headers; this one itself if nothing changes."""
        return self._redact_sent(sent, _find_header_credentials(sent), _find_field_credentials(sent))

    def redact_episode(self, episode: Episode) -> Episode:
        """Return the episode to record.

        Raises CassetteError for too many credentials, or a rule that takes too long.
        """
        sent = episode.request
        reply = episode.reply
        in_fields = _find_field_credentials(sent)
        others = _find_header_credentials(sent)
        of_reply = self._make_credentials((*others, *in_fields))
        if of_reply.are_too_many:
            raise CassetteError(
                f"the request has over {MAX_LETTERS} characters of credentials, too many to find in the answer, "
                "so nothing is recorded"
            )
        return replace(
            episode,
            model=self._redact_model(episode.model, of_reply),
            request=self._redact_sent(
                replace(sent, headers=REQUEST.select(sent.headers, self._compared)), others, in_fields
            ),
            reply=redact_reply(reply, of_reply, self._rules),
        )

    @cached_property
    def _rules(self) -> RedactionRules:
        return RedactionRules(self.scrubs)

    @cached_property
    def _allows(self) -> AllowedSecrets:
        return parse_allowed(self.allowed)

    @cached_property
    def _fields(self) -> CredentialFields:
        return CredentialFields(lambda value: value if value in self._allows else PLACEHOLDER)

    @cached_property
    def _compared(self) -> tuple[str, ...]:
        return tuple(name.lower() for name in self.headers)

    @cached_property
    def _compares_credentials(self) -> bool:
        return any(map(is_secret_header, self._compared))

    @cached_property
    def _find_hidden(self) -> Callable[[Fields], Credentials]:
        """The function that finds the credentials of headers. It remembers them, as clients repeat their headers."""
        return lru_cache(32)(lambda fields: self._make_credentials(tuple(find_credentials(fields))))

    def _make_credentials(self, values: tuple[str, ...]) -> Credentials:
        return make_credentials(value for value in (*self.known, *values) if value not in self._allows)

    def _redact_sent(self, sent: Sent, others: tuple[str, ...], in_fields: tuple[str, ...]) -> Sent:
        hidden = self._make_credentials((*others, *in_fields))
        query = sent.query
        body = sent.body
        if in_fields:
            redacted = self._fields.redact_query(query.encode("utf-8", "surrogateescape"))
            query = redacted.decode("utf-8", "surrogateescape")
            body = self._fields.redact_body(body)
        query = self._redact_query(hidden.redact_text(query))
        body = self._rules.redact_body(hidden.redact(body))
        path = self._redact_text(sent.path, hidden)
        headers = self._redact_headers(sent.headers, hidden)
        if body is sent.body and query == sent.query and path == sent.path and headers is sent.headers:
            return sent
        return replace(sent, path=path, query=query, headers=headers, body=body)

    def _redact_headers(self, headers: Headers, hidden: Credentials) -> Headers:
        left = tuple((name, self._redact_header(name, value, hidden)) for name, value in headers)
        return headers if left == headers else left

    def _redact_header(self, name: str, value: str, hidden: Credentials) -> str:
        if not REQUEST.keeps(name) and name not in self._compared:
            return value
        if is_secret_header(name):
            ((_, raw),) = self._fields.redact_headers(((name.encode(), value.encode("latin-1", "replace")),))
            value = raw.decode("latin-1")
        return self._redact_text(value, hidden)

    def _redact_text(self, text: str, hidden: Credentials) -> str:
        return self._rules.redact_text(hidden.redact_text(text))

    def _redact_query(self, query: str) -> str:
        return "&".join(map(self._redact_pair, query.split("&"))) if self.scrubs and query else query

    def _redact_pair(self, pair: str) -> str:
        name, equals, value = pair.partition("=")
        meant = unquote_plus(value, errors="surrogateescape")
        left = self._rules.redact_text(meant)
        return pair if left == meant else name + equals + quote_plus(left, "<>", errors="surrogateescape")

    def _redact_model(self, model: str, hidden: Credentials) -> str:
        left = try_parse(self._rules.redact_any(compact({"model": hidden.redact_text(model)}))) if self.scrubs else None
        return str(left["model"]) if left else hidden.redact_text(model)


def _find_header_credentials(sent: Sent) -> tuple[str, ...]:
    secret = [
        (name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        for name, value in sent.headers
        if is_secret_header(name)
    ]
    return tuple(find_credentials(tuple(secret)))


def _find_field_credentials(sent: Sent) -> tuple[str, ...]:
    return tuple(find_credentials((), sent.query.encode("utf-8", "surrogateescape"), sent.body))
