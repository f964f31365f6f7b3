"""Redact recordings by header names, credentials and the user's rules, and mask credentials in what people see."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from itertools import islice
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from msgspec import Struct
from msgspec.structs import replace

from mockserver.cassettes.bodies import join_data, replace_data
from mockserver.cassettes.redaction.detect import AllowedSecrets, parse_allowed
from mockserver.cassettes.redaction.find import (
    MAX_LETTERS,
    PLACEHOLDER,
    CredentialFields,
    Credentials,
    Edit,
    Fields,
    find_credentials,
    has_credential_fields,
    is_secret_field,
    is_secret_header,
    make_credentials,
    mask,
)
from mockserver.cassettes.redaction.json_edit import (
    Fragment,
    apply_edits,
    edit_path,
    join_deltas,
    map_scalars,
    read_json,
    replace_fragments,
)
from mockserver.cassettes.yaml_text import Verbatim
from mockserver.config.errors import CassetteError
from mockserver.config.settings import Scrub
from mockserver.config.types import JsonPath, parse_json_path
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent
from mockserver.core.event_stream import is_prelude
from mockserver.core.http import HOP_BY_HOP, Headers, HttpRequest
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.seed import monotonic
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
        if name in self.names:
            return True
        return name.startswith(self.prefixes) and name not in NEVER | ACCOUNT and not is_secret_header(name)


REQUEST = HeaderPolicy(
    frozenset(
        (
            *("accept", "content-type"),
            *("openai-beta", "anthropic-version", "anthropic-beta", "api-version", "x-api-version"),
            *("extra-parameters", "azureml-model-deployment"),
            *("x-stainless-retry-count", "x-goog-upload-command", "amz-sdk-request"),
        )
    ),
    ("x-amzn-bedrock-",),
)

REPLY = HeaderPolicy(
    frozenset(
        (
            *("content-type", "cache-control", "allow"),
            *("retry-after", "retry-after-ms", "x-should-retry"),
            *("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "x-amzn-errortype"),
            *("x-debug-trace-id", "num_tokens", "num_chars", "x-endpoint-monthly-call-limit"),
            *("openai-processing-ms", "openai-version", "openai-model", "openai-poll-after-ms"),
        )
    ),
    (
        *("x-ratelimit-", "ratelimit-", "anthropic-ratelimit-", "x-trial-endpoint-"),
        *("x-ms-", "azureml-model-", "fireworks-", "x-goog-upload-", "x-amzn-bedrock-"),
    ),
)

# Never kept: what belongs to one connection, one encoding of the body, or one visitor.
NEVER = HOP_BY_HOP | {
    *("proxy-authenticate", "content-length", "content-encoding", "accept-encoding", "host", "date"),
    *("set-cookie", "set-cookie2"),
}

# Whose request it is: a name and often a plain word, so its value is not replaced elsewhere.
ACCOUNT = frozenset(("openai-organization", "openai-project", "x-ms-client-principal-id"))


REGEX_SECONDS = 1.0  # for all patterns in a text of up to a million letters


class RedactionRules(Struct, frozen=True, dict=True):
    """The user's rules, those with paths first. No rule changes what another one has inserted."""

    rules: tuple[Scrub, ...] = ()

    def redact_text(self, text: str) -> str:
        """Redact a text that is not JSON. Raises CassetteError, as all methods do, if a pattern takes too long."""
        return self._replace(text, _set_deadline(text)) if self._patterns else text

    def redact_json(self, text: str) -> str | None:
        """Redact a JSON text; None if it is invalid. Only the values change, unless its layout is an unusual one."""
        if (found := read_json(text)) is None:
            return None
        changed = found.tree
        try:
            for path, placeholder in self._paths:
                changed = edit_path(changed, path, partial(self._replace_value, placeholder=placeholder))
            if self._patterns:
                changed = map_scalars(
                    changed, partial(self._replace_by_pattern, deadline=_set_deadline(text)), keys=True
                )
            return text if changed == found.tree else found.style.write(changed)
        except RecursionError:
            raise CassetteError("scrub: the JSON of a body is nested too deeply") from None

    def redact_any(self, text: str) -> str:
        if not self.rules:
            return text
        changed = self.redact_json(text) if text.lstrip()[:1] in ("{", "[", '"') else None
        return self.redact_text(text) if changed is None else changed

    def redact_body(self, body: bytes) -> bytes:
        """Redact a body that may be JSON; return the same object if nothing changes."""
        if not self.rules or not body:
            return body
        text = body.decode("utf-8", "surrogateescape")
        changed = self.redact_any(text)
        return body if changed == text else changed.encode("utf-8", "surrogateescape")

    def find_edits(self, text: str) -> Iterator[Edit]:
        """Yield what the patterns find in a text, in order and without overlaps."""
        deadline, reached = _set_deadline(text), 0
        every = [edit for rule in self._patterns for edit in self._find(*rule, text, deadline)]
        for edit in sorted(every):
            if edit.start >= reached:
                reached = edit.end
                yield edit

    @cached_property
    def _paths(self) -> tuple[tuple[JsonPath, str], ...]:
        return tuple((parse_json_path(rule.path), rule.placeholder) for rule in self.rules if rule.path is not None)

    @cached_property
    def _patterns(self) -> tuple[tuple[Any, str], ...]:
        import regex  # type: ignore[import-untyped]  # slow to import, and most settings have no pattern

        return tuple((regex.compile(rule.regex), rule.placeholder) for rule in self.rules if rule.regex is not None)

    @cached_property
    def _placeholders(self) -> re.Pattern[str]:
        every = sorted({PLACEHOLDER, *(rule.placeholder for rule in self.rules)}, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, every)))

    def _replace_value(self, was: Json, placeholder: str) -> Json:
        """Replace a value, or every scalar within it, but not what another rule has inserted."""
        inserted = {rule.placeholder for rule in self.rules}
        return map_scalars(
            was, lambda scalar: scalar if scalar in inserted else _convert_placeholder(scalar, placeholder)
        )

    def _replace_by_pattern(self, was: Json, deadline: float) -> Json:
        if not isinstance(was, str):  # true, false, null
            return was
        now = self._replace(was, deadline)
        if type(was) is not Verbatim:
            return now
        whole = now != was and any(now == placeholder for _, placeholder in self._patterns)
        return _convert_placeholder(was, now) if whole else was  # of a number, all is meant or nothing

    def _replace(self, text: str, deadline: float) -> str:
        for pattern, placeholder in self._patterns:
            text = apply_edits(text, list(self._find(pattern, placeholder, text, deadline)))
        return text

    def _find(self, pattern: Any, placeholder: str, text: str, deadline: float) -> Iterator[Edit]:
        for start, end in self._list_free(text):
            left = max(deadline - monotonic(), 0.001)
            try:
                for match in pattern.finditer(text, start, end, timeout=left):
                    if match.end() > match.start():
                        yield Edit(match.start(), match.end(), placeholder)
            except (TimeoutError, MemoryError):  # how the library fails on some patterns
                raise CassetteError(_explain_slowness(pattern.pattern)) from None

    def _list_free(self, text: str) -> Iterable[tuple[int, int]]:
        ends = [0]
        for match in self._placeholders.finditer(text):
            yield ends[-1], match.start()
            ends.append(match.end())
        yield ends[-1], len(text)


def _set_deadline(text: str) -> float:
    return monotonic() + REGEX_SECONDS * (1 + len(text) // 1_000_000)


def _explain_slowness(pattern: str) -> str:
    shown = json.dumps(pattern if len(pattern) <= 80 else pattern[:79] + "…", ensure_ascii=False)
    return (
        f"scrub: the pattern {shown} took more than {REGEX_SECONDS:g} s, or ran out of memory, on a text; simplify it"
    )


def _convert_placeholder(was: Json, placeholder: str) -> Json:
    """Return the placeholder for a scalar, of its kind if it can be a number or a boolean; None for null."""
    if isinstance(was, bool):
        return placeholder == "true" if placeholder in ("true", "false") else placeholder
    is_number = type(was) is Verbatim and _NUMBER.fullmatch(placeholder)
    return None if was is None else Verbatim(placeholder) if is_number else placeholder


_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")


Data = tuple[str | None, ...]  # of each event


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


def _redact_split_texts(events: Data, hidden: Credentials, rules: RedactionRules) -> Data:
    events = redact_across_events(events, hidden)
    return _edit_split_texts(events, lambda text: tuple(rules.find_edits(text))) if rules.rules else events


def redact_across_events(events: Data, hidden: Credentials) -> Data:
    """Return the events without credentials that are split across several of them."""
    return _edit_split_texts(events, lambda text: _find_edits(text, hidden)) if hidden.values else events


def _edit_split_texts(events: Data, find: Callable[[str], Sequence[Edit]]) -> Data:
    pieces: dict[int, list[Fragment]] = defaultdict(list)
    for joined in join_deltas(events):
        for piece in joined.apply(edits) if (edits := find(joined.text)) else ():
            pieces[piece.event].append(piece)
    return tuple(
        replace_fragments(data, pieces[number]) if data is not None and number in pieces else data
        for number, data in enumerate(events)
    )


def _find_edits(text: str, hidden: Credentials) -> Sequence[Edit]:
    data = text.encode("utf-8", "surrogatepass")
    edits, letters, reached = list[Edit](), 0, 0
    for start, end, instead in hidden.find_edits(data):
        before, within = (_count_letters(data[left:right]) for left, right in ((reached, start), (start, end)))
        edits.append(Edit(letters + before, letters + before + within, instead))
        letters, reached = letters + before + within, end
    return edits


def _count_letters(data: bytes) -> int:
    return len(data) if data.isascii() else sum(byte & 0xC0 != 0x80 for byte in data)


_DONE = "[DONE]"  # the end of a stream has no content


class Redactor(Struct, frozen=True, dict=True):
    """Redacts by the user's rules, the environment's secrets (`known`), and what the user allows.

    `headers`: request headers to keep besides the usual ones, because they are compared.
    """

    scrubs: tuple[Scrub, ...] = ()
    known: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()

    __repr__, __rich_repr__ = make_reprs("known")

    def may_change(self, http: HttpRequest) -> bool:
        """Return whether `redact_request` may change a live request: of most it is quickly said that it does not."""
        if self.scrubs or self._compares_credentials or http.query or has_credential_fields(http.body):
            return True
        secret: list[tuple[bytes, bytes]] = []
        said = [http.path.encode("utf-8", "surrogateescape"), http.body]
        for field in http.headers:
            if is_secret_field(field[0]):
                secret.append(field)
            else:
                said.append(field[1])
        return self._hidden_by(tuple(secret)).are_in(b"\n".join(said))

    def redact_request(self, sent: Sent) -> Sent:
        """Return a live request as it would be recorded, but with all headers; the same object if nothing changes."""
        return self._redact_sent(sent, _find_header_credentials(sent), _find_field_credentials(sent))

    def redact_episode(self, episode: Episode) -> Episode:
        """Return the episode to record.

        Raises CassetteError for too many credentials, or a rule that takes too long.
        """
        sent, reply = episode.request, episode.reply
        in_fields, others = _find_field_credentials(sent), _find_header_credentials(sent)
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
    def _hidden_by(self) -> Callable[[Fields], Credentials]:
        """What is hidden where these headers hold credentials: clients send the same ones each time."""
        return lru_cache(32)(lambda fields: self._make_credentials(tuple(find_credentials(fields))))

    def _make_credentials(self, values: tuple[str, ...]) -> Credentials:
        return make_credentials(value for value in (*self.known, *values) if value not in self._allows)

    def _redact_sent(self, sent: Sent, others: tuple[str, ...], in_fields: tuple[str, ...]) -> Sent:
        hidden = self._make_credentials((*others, *in_fields))
        query, body = sent.query, sent.body
        if in_fields:
            redacted = self._fields.redact_query(query.encode("utf-8", "surrogateescape"))
            query = redacted.decode("utf-8", "surrogateescape")
            body = self._fields.redact_body(body)
        query, body = self._redact_query(hidden.redact_text(query)), self._rules.redact_body(hidden.redact(body))
        path, headers = self._redact_text(sent.path, hidden), self._redact_headers(sent.headers, hidden)
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
        return self._found.redact_text(text)

    def mask_bytes(self, data: bytes) -> bytes:
        return self._found.redact(data)

    def mask_events(self, events: Sequence[str]) -> Sequence[str]:
        """Return the events of an answer, or its body, without those that are split across them."""
        return [event or "" for event in redact_across_events(tuple(events), self._found)]

    def mask_headers(self, headers: Fields) -> Fields:
        """Return headers without them; the values of credential headers are masked however short."""
        return tuple((name, self.mask_bytes(value)) for name, value in _MASKED_FIELDS.redact_headers(headers))

    def mask_query(self, query: bytes) -> bytes:
        return self.mask_bytes(_MASKED_FIELDS.redact_query(query))

    def mask_body(self, body: bytes) -> bytes:
        return self.mask_bytes(_MASKED_FIELDS.redact_body(body))

    @cached_property
    def _found(self) -> Credentials:
        return make_credentials(self.values, self.instead)


_MASKED_FIELDS = CredentialFields()
