"""The user's own rules of what to leave out: where it stands in JSON, or what it looks like."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from mockserver.cassettes.redaction.find import (
    LARGEST,
    PLACEHOLDER,
    Credentials,
    Fields,
    Places,
    credentials,
    credentials_of,
    is_secret_header,
    mask,
)
from mockserver.cassettes.redaction.json_spans import (
    Edit,
    Fragment,
    JsonSpan,
    apply_edits,
    find_spans,
    joined_deltas,
    json_string,
    parse_spans,
    text_spans,
    with_fragments,
)
from mockserver.cassettes.redaction.leaks import AllowedSecrets, allowed
from mockserver.cassettes.sse_yaml import data_of, with_data
from mockserver.config.cassettes import Scrub
from mockserver.config.errors import CassetteError
from mockserver.config.types import JsonPath, steps
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent
from mockserver.core.http import Headers
from mockserver.core.json import compact, parsed
from mockserver.core.seed import monotonic


@dataclass(frozen=True, slots=True)
class HeaderPolicy:
    """Headers to keep: by name, or by how their names begin."""

    names: frozenset[str]
    beginnings: tuple[str, ...] = ()

    def of(self, headers: Headers, more: Collection[str] = ()) -> Headers:
        """Those of some headers that are kept, in their order, with names in lower case; `more` are asked for."""
        small = ((name.lower(), value) for name, value in headers)
        return tuple((name, value) for name, value in small if self.has(name) or (name in more and name not in NEVER))

    def has(self, name: str) -> bool:
        """Whether a header, named in lower case, is kept."""
        if name in self.names:
            return True
        return name.startswith(self.beginnings) and name not in NEVER | ACCOUNT and not is_secret_header(name)


REQUEST = HeaderPolicy(
    frozenset(
        (
            *("accept", "content-type"),
            *("openai-beta", "anthropic-version", "anthropic-beta", "api-version", "x-api-version"),
            *("extra-parameters", "azureml-model-deployment"),
            "x-stainless-retry-count",
        )
    )
)

REPLY = HeaderPolicy(
    frozenset(
        (
            *("content-type", "cache-control", "allow"),
            *("retry-after", "retry-after-ms", "x-should-retry"),
            *("x-request-id", "request-id", "apim-request-id"),
            *("openai-processing-ms", "openai-version", "openai-model", "openai-poll-after-ms"),
        )
    ),
    ("x-ratelimit-", "ratelimit-", "anthropic-ratelimit-", "x-ms-", "azureml-model-", "fireworks-"),
)

# What is never kept, whoever asks for it: what belongs to one connection, one form of the body, or one visitor.
NEVER = frozenset(
    (
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
        *("proxy-authenticate", "content-length", "content-encoding", "accept-encoding", "host", "date"),
        *("set-cookie", "set-cookie2"),
    )
)

# Whose request it is. That is no credential, but a name, and often a plain word: its value is left alone elsewhere.
ACCOUNT = frozenset(("openai-organization", "openai-project", "x-ms-client-principal-id"))


REGEX_SECONDS = 1.0  # for all patterns in a text of up to a million letters


@dataclass(frozen=True)
class RedactionRules:
    """Rules, applied one after the other: those of places first. What they put in is left alone by all of them."""

    rules: tuple[Scrub, ...] = ()

    def text(self, text: str) -> str:
        """A text that is no JSON. Raises CassetteError where a pattern takes too long, here as in all that follows."""
        return self._replaced(text, _deadline(text)) if self._patterns else text

    def json(self, text: str) -> str | None:
        """A text of JSON; None where it is none."""
        root = parse_spans(text)
        if root is None:
            return None
        changed = apply_edits(text, list(self._by_place(root, text)))
        if not self._patterns:
            return changed
        root = root if changed == text else parse_spans(changed)
        assert root is not None  # noqa: S101  # a value stands where a value stood
        return apply_edits(changed, list(self._by_look(root, changed)))

    def either(self, text: str) -> str:
        """A text that may be JSON."""
        if not self.rules:
            return text
        changed = self.json(text) if text.lstrip()[:1] in ("{", "[", '"') else None
        return self.text(text) if changed is None else changed

    def body(self, body: bytes) -> bytes:
        """A body that may be JSON; the very object, where nothing is to be done."""
        if not self.rules or not body:
            return body
        text = body.decode("utf-8", "surrogateescape")
        changed = self.either(text)
        return body if changed == text else changed.encode("utf-8", "surrogateescape")

    def spans(self, text: str) -> Iterator[Edit]:
        """What the patterns find in a text, the first that does at each place."""
        deadline, reached = _deadline(text), 0
        every = [edit for rule in self._patterns for edit in self._found(rule, text, deadline)]
        for edit in sorted(every):
            if edit[0] >= reached:
                reached = edit[1]
                yield edit

    @cached_property
    def _paths(self) -> tuple[tuple[JsonPath, str], ...]:
        return tuple((steps(rule.path), rule.placeholder) for rule in self.rules if rule.path is not None)

    @cached_property
    def _patterns(self) -> tuple["_Pattern", ...]:
        import regex  # type: ignore[import-untyped]  # slow to import, and most settings have no pattern

        return tuple(
            _Pattern(regex.compile(rule.regex), rule.placeholder, rule.regex)
            for rule in self.rules
            if rule.regex is not None
        )

    @cached_property
    def _put_in(self) -> re.Pattern[str]:
        """What finds the placeholders of all rules."""
        every = sorted({PLACEHOLDER, *(rule.placeholder for rule in self.rules)}, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, every)))

    def _by_place(self, root: JsonSpan, text: str) -> Iterator[Edit]:
        for path, placeholder in self._paths:
            for place in find_spans(root, path):
                yield from (edit for edit in _instead(place, placeholder, text) if not self._is_put_in(edit, text))

    def _is_put_in(self, edit: Edit, text: str) -> bool:
        """Whether a rule, this one or another, has put something in there before."""
        start, end, _ = edit
        return any(text[start:end] in (rule.placeholder, json_string(rule.placeholder, text)) for rule in self.rules)

    def _by_look(self, root: JsonSpan, text: str) -> Iterator[Edit]:
        deadline = _deadline(text)
        for place in text_spans(root):
            was = text[place.start : place.end] if place.said is None else place.said
            if place.said is None and was[0].isalpha():  # true, false, null
                continue
            now = self._replaced(was, deadline)
            if now == was:
                continue
            if place.said is not None:
                yield place.start, place.end, json_string(now, text)
            elif any(now == rule.placeholder for rule in self._patterns):  # a number, all of which is meant
                yield place.start, place.end, _as_word(now, was, text)

    def _replaced(self, text: str, deadline: float) -> str:
        for rule in self._patterns:
            if edits := list(self._found(rule, text, deadline)):
                text = apply_edits(text, edits)
        return text

    def _found(self, rule: "_Pattern", text: str, deadline: float) -> Iterator[Edit]:
        for start, end in self._free(text):
            left = max(deadline - monotonic(), 0.001)
            try:
                for match in rule.pattern.finditer(text, start, end, timeout=left):
                    if match.end() > match.start():
                        yield match.start(), match.end(), rule.placeholder
            except (TimeoutError, MemoryError):  # memory: the library's own way to fail on some
                raise CassetteError(_ran_out(rule.shown)) from None

    def _free(self, text: str) -> Iterable[tuple[int, int]]:
        """The stretches of a text that are no placeholder."""
        ends = [0]
        for match in self._put_in.finditer(text):
            yield ends[-1], match.start()
            ends.append(match.end())
        yield ends[-1], len(text)


@dataclass(frozen=True, slots=True)
class _Pattern:
    pattern: Any
    placeholder: str
    shown: str


def _deadline(text: str) -> float:
    return monotonic() + REGEX_SECONDS * (1 + len(text) // 1_000_000)


def _ran_out(pattern: str) -> str:
    shown = json.dumps(pattern if len(pattern) <= 80 else pattern[:79] + "…", ensure_ascii=False)
    return f"scrub: the pattern {shown} takes over {REGEX_SECONDS:g} s, or all memory, on a text; make it simpler"


def _instead(place: JsonSpan, placeholder: str, text: str) -> Iterator[Edit]:
    """A text becomes the placeholder, and so does every text within an object or a list; a null says nothing."""
    waiting: Sequence[JsonSpan] = [place]
    while waiting:
        for each in waiting:
            if each.said is not None:
                yield each.start, each.end, json_string(placeholder, text)
            elif each.said is None and each.inner is None:
                was = text[each.start : each.end]
                yield each.start, each.end, was if was == "null" else _as_word(placeholder, was, text)
        waiting = [inner for each in waiting for _, inner in each.inner or ()]


def _as_word(placeholder: str, was: str, text: str) -> str:
    """The placeholder in place of a number, true or false: as one, where it is one too."""
    same = placeholder in _TRUTHS if was in _TRUTHS else _NUMBER.fullmatch(placeholder) is not None
    return placeholder if same else json_string(placeholder, text)


_TRUTHS = ("true", "false")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")


Data = tuple[str | None, ...]  # of each event


def redact_reply(reply: Recorded, away: Credentials, rules: RedactionRules) -> Recorded:
    """An answer without these credentials and without what these rules leave out.

    What is told in pieces goes first: of a piece alone a rule may find a part, and leave the rest behind.
    """
    headers = tuple((name, rules.text(away.text(value))) for name, value in REPLY.of(reply.headers))
    if reply.frames is not None:
        return replace(reply, headers=headers, frames=_frames(reply.frames, away, rules))
    was = reply.body.decode("utf-8", "surrogateescape")
    (told,) = _together((was,), away, rules)
    body = reply.body if told == was or told is None else told.encode("utf-8", "surrogateescape")
    return replace(reply, headers=headers, body=rules.body(away.data(body)))


def _frames(frames: Sequence[RecordedEvent], away: Credentials, rules: RedactionRules) -> tuple[RecordedEvent, ...]:
    was = tuple(data_of(frame) for _, frame in frames)
    told = zip(frames, was, _together(was, away, rules), strict=True)
    left = ((at, away.data(_with(frame, old, new))) for (at, frame), old, new in told)
    return tuple((at, _ruled(frame, rules)) for at, frame in left) if rules.rules else tuple(left)


def _ruled(frame: bytes, rules: RedactionRules) -> bytes:
    data = data_of(frame)
    return frame if data in (None, _DONE) else _with(frame, data, rules.either(data))


def _with(frame: bytes, old: str | None, new: str | None) -> bytes:
    return frame if new is None or new == old else with_data(frame, new)


def _together(events: Data, away: Credentials, rules: RedactionRules) -> Data:
    """The events without what they tell together and is to be left out."""
    events = redact_joined(events, away)
    return _edited(events, lambda text: tuple(rules.spans(text))) if rules.rules else events


def redact_joined(events: Data, away: Credentials) -> Data:
    """The events without those credentials that no one of them holds, but several together."""
    return _edited(events, lambda text: _credentials(text, away)) if away.values else events


def _edited(events: Data, find: Callable[[str], Sequence[Edit]]) -> Data:
    pieces: dict[int, list[Fragment]] = defaultdict(list)
    for lane in joined_deltas(events):
        for piece in lane.without(edits) if (edits := find(lane.text)) else ():
            pieces[piece.event].append(piece)
    return tuple(
        with_fragments(data, pieces[number]) if data is not None and number in pieces else data
        for number, data in enumerate(events)
    )


def _credentials(text: str, away: Credentials) -> Sequence[Edit]:
    data = text.encode("utf-8", "surrogatepass")
    edits, letters, reached = list[Edit](), 0, 0
    for start, end, instead in away.edits(data):
        before, within = (_letters(data[left:right]) for left, right in ((reached, start), (start, end)))
        edits.append((letters + before, letters + before + within, instead))
        letters, reached = letters + before + within, end
    return edits


def _letters(data: bytes) -> int:
    return len(data) if data.isascii() else sum(byte & 0xC0 != 0x80 for byte in data)


_DONE = "[DONE]"  # what ends a stream says nothing


@dataclass(frozen=True)
class Redactor:
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
            reply=redact_reply(reply, of_reply, self._rules),
        )

    @cached_property
    def _rules(self) -> RedactionRules:
        return RedactionRules(self.scrubs)

    @cached_property
    def _allows(self) -> AllowedSecrets:
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


MAX_VALUES = 64  # values of one request that are looked for everywhere; further ones are masked in their own places


def secrets_of(headers: Fields, query: bytes = b"", body: bytes = b"", more: Iterable[str] = ()) -> "Secrets":
    """The credentials of a request; `more` are known from elsewhere."""
    found = dict.fromkeys((*more, *credentials(headers, query, body)))
    return Secrets(tuple(islice(found, MAX_VALUES)))


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
        return [event or "" for event in redact_joined(tuple(events), self._found)]

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
