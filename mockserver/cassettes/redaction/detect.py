"""Detect secrets by their look: the formats of well-known keys, and values after words such as `password`.

Each detector is linear in the length of the data. detect-secrets was tried in its place: without its entropy plugins it
finds 20 of the 50 examples below, at over a second per megabyte; with them it reports nearly every line of a cassette.
"""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote_plus

from msgspec import Struct
from msgspec.structs import replace

from mockserver.cassettes.event_lines import join_data
from mockserver.cassettes.redaction.credential_fields import is_page_token, mask
from mockserver.cassettes.redaction.json_edit import find_path, join_deltas
from mockserver.cassettes.redaction.random_text import is_fake, is_password, is_random, is_token
from mockserver.config.errors import ConfigError
from mockserver.core.episode import Episode, RecordedEvent
from mockserver.core.event_stream import is_prelude
from mockserver.core.frames import Frame, write_event
from mockserver.core.json import try_parse


def is_jwt(text: str) -> bool:
    """Return whether a text begins with the header of a JWT, and is not the one of all tutorials."""
    head, _, rest = text.partition(".")
    try:
        header = json.loads(urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header and not rest.startswith(_TUTORIAL) and not is_fake(rest)


_TUTORIAL = "eyJzdWIiOiIxMjM0NTY3ODkw"  # {"sub":"1234567890
Check = Callable[[str], bool]


def is_apart(data: bytes, at: int) -> bool:
    """Return whether no letter precedes this place, except the end of an escape."""
    return at == 0 or data[at - 1] not in _LETTERS or _ESCAPE.search(data, max(0, at - 6), at) is not None


def _is_anywhere(_data: bytes, _at: int) -> bool:
    return True


_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_ESCAPE = re.compile(rb"(?:\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2})\Z")


class Detector(Struct, frozen=True):
    """A kind of secret, with an example.

    Each secret has one of the `needles`, `back` letters from its start; they are in lower case if the pattern ignores
    case. `begins` tells whether a secret may begin at a place of some data. The value is the pattern's first group, or
    all of it; `check` tells real ones from examples.
    """

    name: str
    needles: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    example: str
    check: Check = is_random
    begins: Callable[[bytes, int], bool] = is_apart
    back: int = 0

    def find(self, data: bytes, small: bytes) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each value in data; `small` is the data in lower case."""
        group = 1 if self.pattern.groups else 0
        within = small if self.pattern.flags & re.IGNORECASE else data
        for needle in self.needles:
            at = within.find(needle)
            while at >= 0:
                start = at - self.back
                end = at + len(needle)
                match = self.pattern.match(data, start) if start >= 0 and self.begins(within, start) else None
                if match and self.check(match[group].decode("latin-1")):
                    yield match.span(group)
                at = within.find(needle, max(end, match.end()) if match else end)


def _detect_key(name: str, needle: str, rest: str, example: str) -> Detector:
    """Return the detector of a key that begins with a needle, and goes on as the pattern `rest`.

    The rows of DETECTORS have these four in columns.
    """
    pattern = re.escape(needle) + rest + r"(?![A-Za-z0-9])"
    return Detector(name, (needle.encode(),), pattern=re.compile(pattern.encode()), example=example)


def _detect_letters(name: str, needle: str, rest: str, example: str) -> Detector:
    """Return the detector of a key that may consist of letters alone."""
    return replace(_detect_key(name, needle, rest, example), check=is_token)


def _make_cue_pattern(words: tuple[bytes, ...], between: bytes, value: bytes) -> re.Pattern[bytes]:
    return re.compile(b"(?:%b)%b(%b)" % (b"|".join(words), between, value), re.IGNORECASE)


def _is_announced(small: bytes, at: int) -> bool:
    """Return whether a word announces a secret: not every key does, nor a token of something else."""
    before = small[max(0, at - _LONGEST_NAME) : at]
    if small.startswith(b"key", at):
        return before.rstrip(b"_ -").endswith(_WORDS_BEFORE_KEY)
    if not small.startswith(b"token", at):
        return True
    if before.endswith((b"_", b"-")):
        return before[:-1].endswith(_WORDS_BEFORE_TOKEN)
    return not is_page_token(before + b"token")


_LONGEST_NAME = 32  # letters before the word that announces a secret

_CUES = (
    b"key", b"secret", b"password", b"passwd", b"passphrase", b"pwd",
    b"bearer", b"authorization", b"credential", b"token",
)  # fmt: skip
_WORDS_BEFORE_KEY = (
    b"api", b"access", b"secret", b"private", b"subscription", b"account", b"auth", b"encryption", b"signing",
    b"master", b"service", b"shared", b"webhook",
)  # fmt: skip
_WORDS_BEFORE_TOKEN = (
    b"access",
    b"auth",
    b"refresh",
    b"api",
    b"session",
    b"id",
    b"bot",
    b"personal",
    b"secret",
    b"bearer",
)
# Between a word and its value: quotes, escaped or not, a colon or the like, `is`; or a multipart form's blank line.
_QUOTES = rb"(?:\\{0,4}+[\"'`*]){0,4}+"  # escaped or not
_BETWEEN = (
    rb"(?:s\b)?+" + _QUOTES + rb"(?:\s{0,4}+(?:[:=]|=>|is\b|was\b)|(?<=[\"'`*])|(?=[\s\\]))"
    rb"(?:\s|\\{1,4}[nrt]){0,6}+(?:bearer |basic |token )?+" + _QUOTES
)
_STATED = _QUOTES + rb"\s{0,4}+[:=]\s{0,4}+" + _QUOTES
_SLASHES = rb":(?:\\?/){2}[^\s/:@\"'\\<>]{0,64}+:([^\s/:@\"'\\<>]{8,100}+)@"
_PEM = (
    rb"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:\s|\\{1,4}[nrt]|[A-Z][A-Za-z-]{3,12}: [\w,.() -]{1,80}+){0,16}+([A-Za-z0-9+/\\]{30,}+)"
)

DETECTORS = (
    _detect_key(
        "OpenAI key", "sk-", r"(?:proj-|svcacct-|admin-|None-)?[\w-]{20,}+", "sk-proj-8fK2qLmN0pR4sT6vX9zB1dF3"
    ),
    _detect_key("Anthropic key", "sk-ant-", r"[\w-]{20,}+", "sk-ant-api03-Qx7Lk2Vn9Rb4Tz8Ws1Ym6"),
    _detect_key("key of sk_", "sk_", r"(?!live_|test_)[\w-]{20,}+", "sk_9fK2qLmN0pR4sT6vX9zB1dF3"),
    _detect_key("OpenAI key for a session", "ek_", r"[A-Za-z0-9]{24,}+", "ek_8f2c9b4d6e0a7f3b5c1d2e4f6a8b"),
    _detect_key("Fireworks key", "fw_", r"[A-Za-z0-9]{20,}+", "fw_3ZkQ9vLm2Xr7Tb5Nw8Yc1Hd"),
    Detector(
        "Azure key",
        (b"JQQJ99",),
        pattern=re.compile(rb"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}(?![A-Za-z0-9])"),
        example="3hTq8Vn2Zk6Xb1Wm9Rc4Yd7Lf5Gs0Pj3Qv8Nt2Kz6Bx1Mw9Cr4DyJQQJ99ALACYeBjFXJ3w3AAABACOGq7Tz",
        check=is_token,
        back=52,
    ),
    _detect_key("Google key", "AIza", r"[\w-]{35}", "AIzaSyD9x2Kq7Lm4Nv8Rb1Tz6Wc3Yf5Gh0JpQsU"),
    _detect_key("Google token", "ya29.", r"[\w-]{20,}+", "ya29.a0Ad52N3-8fK2qLmN0pR4sT6vX9z"),
    _detect_key("Google client secret", "GOCSPX-", r"[\w-]{28}", "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"),
    _detect_letters("AWS key id", "AKIA", r"[A-Z2-7]{16}", "AKIAQ4ZT7MWX2RNB5KLC"),
    _detect_letters("AWS key id", "ASIA", r"[A-Z2-7]{16}", "ASIAQ4ZT7MWX2RNB5KLC"),
    *(
        _detect_key(
            "GitHub token", f"gh{kind}_", r"[A-Za-z0-9]{36,}+", f"gh{kind}_8fK2qLmN0pR4sT6vX9zB1dF3hJ5kM7nP9qS1"
        )
        for kind in "pousr"
    ),
    _detect_key(
        "GitHub token", "github_pat_", r"\w{40,}+", "github_pat_11ABCDEFG0q8fK2qLmN0pR_4sT6vX9zB1dF3hJ5kM7nP9qS1tV"
    ),
    _detect_key("GitLab token", "glpat-", r"[\w-]{20,}+", "glpat-8fK2qLmN0pR4sT6vX9zB"),
    *(
        _detect_key("Slack token", f"xox{kind}-", r"[A-Za-z0-9-]{20,}+", f"xox{kind}-2841750936-8fK2qLmN0pR4sT6v")
        for kind in "abeoprs"
    ),
    _detect_key("Slack token", "xapp-", r"[A-Za-z0-9-]{20,}+", "xapp-1-A02B3C4D5E6-2841750936-8fK2qLmN0pR4sT6v"),
    _detect_key(
        "Slack webhook",
        "hooks.slack.com/services/",
        r"[\w/]{30,}+",
        "hooks.slack.com/services/T0A1/B2C3/8fK2qLmN0pR4sT6vX9zB1d",
    ),
    _detect_key("Stripe key", "sk_live_", r"[A-Za-z0-9]{20,}+", "sk_live_8fK2qLmN0pR4sT6vX9zB1dF3"),
    _detect_key("Stripe key", "rk_live_", r"[A-Za-z0-9]{20,}+", "rk_live_8fK2qLmN0pR4sT6vX9zB1dF3"),
    _detect_key("Stripe webhook secret", "whsec_", r"[A-Za-z0-9]{24,}+", "whsec_8fK2qLmN0pR4sT6vX9zB1dF3"),
    _detect_letters("Hugging Face token", "hf_", r"[A-Za-z0-9]{34,}+", "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"),
    _detect_key("npm token", "npm_", r"[A-Za-z0-9]{36}", "npm_8fK2qLmN0pR4sT6vX9zB1dF3hJ5kM7nP9qS1"),
    _detect_letters(
        "PyPI token", "pypi-", r"[\w-]{50,}+", "pypi-AgEIcHlwaS5vcmcCJDhmSzJxTG1OMHBSNHNUNnZYOXpCMWRGMwACKlsz"
    ),
    _detect_key(
        "SendGrid key",
        "SG.",
        r"[\w-]{20,24}\.[\w-]{39,50}",
        "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",
    ),
    _detect_key("Groq key", "gsk_", r"[A-Za-z0-9]{40,}+", "gsk_8fK2qLmN0pR4sT6vX9zB1dF3hJ5kM7nP9qS1tV3wX5yZ7aB9"),
    _detect_key("xAI key", "xai-", r"[A-Za-z0-9]{40,}+", "xai-8fK2qLmN0pR4sT6vX9zB1dF3hJ5kM7nP9qS1tV3wX5yZ7aB9"),
    _detect_key(
        "Perplexity key", "pplx-", r"[A-Za-z0-9]{40,}+", "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"
    ),
    _detect_key("Replicate token", "r8_", r"[A-Za-z0-9]{37,}+", "r8_8fK2qLmN0pR4sT6vX9zB1dF3hJ5kM7nP9qS1t"),
    _detect_key("NVIDIA key", "nvapi-", r"[\w-]{40,}+", "nvapi-8fK2qLmN0pR4sT6vX9zB1dF3hJ5kM7nP9qS1tV3wX5yZ"),
    _detect_key("Cerebras key", "csk-", r"[a-z0-9]{40,}+", "csk-8fk2qlmn0pr4st6vx9zb1df3hj5km7np9qs1tv3wx5yz7ab9"),
    _detect_key("Tavily key", "tvly-", r"[\w-]{24,}+", "tvly-dev-8fK2qLmN0pR4sT6vX9zB1dF3"),
    _detect_key("LangSmith key", "lsv2_", r"\w{30,}+", "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"),
    _detect_key("Databricks token", "dapi", r"[0-9a-f]{32}(?:-\d)?", "dapi8f2a1b4c6d0e9f7a3b5c1d2e4f6a8b0c"),
    _detect_key("DigitalOcean token", "dop_v1_", r"[0-9a-f]{64}", "dop_v1_" + "8f2a1b4c6d0e9f7a3b5c1d2e4f6a8b0c" * 2),
    _detect_key("Notion token", "ntn_", r"[A-Za-z0-9]{40,}+", "ntn_8fK2qLmN0pR4sT6vX9zB1dF3hJ5kM7nP9qS1tV3wX5yZ"),
    Detector(
        "JWT",
        (b"eyJ",),
        pattern=re.compile(rb"eyJ[\w-]{8,}+(?:\.[\w-]*+){1,3}\.[\w-]{8,}+"),
        example="eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSIsIm4iOjd9.k3Vn8Zq1Xb6Wm9Rc4Yd7Lf5Gs0Pj2Tt",
        check=is_jwt,
    ),
    Detector(
        "private key",
        (b"-----BEGIN ",),
        pattern=re.compile(_PEM),
        example="-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ",
        check=is_token,
        begins=_is_anywhere,
    ),
    Detector(
        "password in a URL",
        (b"://", b":\\/\\/"),
        pattern=re.compile(_SLASHES),
        example="postgres://me:8fK2qLmN0p@db/x",
        check=is_password,
        begins=_is_anywhere,
    ),
    Detector(
        "value after a word such as key or token",
        _CUES,
        pattern=_make_cue_pattern(_CUES, _BETWEEN, rb"[\w+/=.~-]{16,}+"),
        example="api key: 8fK2qLmN0pR4sT6vX9zB",
        begins=_is_announced,
    ),
    Detector(
        "value after a word such as password",
        _CUES[2:6],
        pattern=_make_cue_pattern(_CUES[2:6], _STATED, rb"[^\s\"'\\<>,;&]{10,100}+"),
        example='password = "q8!fK2#Lm0pR"',
        check=is_password,
        begins=_is_anywhere,
    ),
)


HASH = "sha256:"
SHOWN = 16  # hexadecimal digits of a hash that are suggested
MIN_DIGITS = 8  # the fewest that a number must have


class AllowedSecrets(Struct, frozen=True):
    """The values that the setting allow_secrets allows: by patterns with `*`, or by prefixes of their SHA-256."""

    hashes: tuple[str, ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()

    def __contains__(self, value: str) -> bool:
        if self.hashes and _hash(value).startswith(self.hashes):
            return True
        return any(pattern.fullmatch(value) for pattern in self.patterns)


def parse_allowed(entries: tuple[str, ...]) -> AllowedSecrets:
    """Parse the setting allow_secrets. Raises ConfigError."""
    hashes = tuple(entry.removeprefix(HASH).lower() for entry in entries if entry.startswith(HASH))
    for digits in hashes:
        if not MIN_DIGITS <= len(digits) <= 64 or set(digits) - set("0123456789abcdef"):
            raise ConfigError(
                f"allow_secrets: {HASH}{digits} must have {MIN_DIGITS} to 64 hexadecimal digits after {HASH}, as the "
                "report of the secret shows them"
            )
    return AllowedSecrets(hashes, tuple(_make_pattern(entry) for entry in entries if not entry.startswith(HASH)))


def make_entry(value: str) -> str:
    """Return an entry for allow_secrets that allows a value and does not reveal it."""
    return HASH + _hash(value)[:SHOWN]


def _hash(value: str) -> str:
    return sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def _make_pattern(entry: str) -> re.Pattern[str]:
    pieces = re.split(r"(?<!\\)\*", entry)
    first, *others = (re.escape(piece.replace("\\*", "*")) for piece in pieces)
    if not others:
        return re.compile(first)
    # The first place of each piece but the last will do: atomic groups keep the time linear.
    *inner, last = others
    return re.compile(first + "".join(f"(?>.*?{piece})" for piece in inner) + f".*{last}", re.DOTALL)


MAX_LEAKS = 20  # that are reported of one episode


class Leak(Struct, frozen=True):
    """A text that looks like a secret: its kind and place, the text masked, and the setting that allows it."""

    kind: str
    where: str
    shown: str
    how: str

    def __str__(self) -> str:
        return f"{self.where}: {self.shown} looks like a secret ({self.kind}); if it is not one, allow it: {self.how}"


def find_leaks(episode: Episode, allow: tuple[str, ...] = ()) -> tuple[Leak, ...]:
    """Return the texts that look like secrets, each once. Raises ConfigError for `allow`, the setting allow_secrets."""
    return tuple(islice(_find_leaks(episode, parse_allowed(allow)), MAX_LEAKS))


class _Surface(NamedTuple):
    """Bytes to search. `locate` names the place of a value in them, once needless escapes are removed."""

    data: bytes
    locate: Callable[[bytes, bytes], str]


def _find_leaks(episode: Episode, allows: AllowedSecrets) -> Iterator[Leak]:
    seen = set[bytes]()
    for surface in _list_surfaces(episode):
        data = _unescape(surface.data)
        small = data.lower()
        for detector in DETECTORS:
            for start, end in detector.find(data, small):
                found = data[start:end]
                value = data[start:end].decode("utf-8", "replace")
                if found not in seen and value not in allows:
                    seen.add(found)
                    yield Leak(
                        kind=detector.name,
                        where=surface.locate(data, found),
                        shown=mask(value),
                        how=f'allow_secrets: ["{make_entry(value)}"]',
                    )


def _list_surfaces(episode: Episode) -> Iterator[_Surface]:
    sent = episode.request
    reply = episode.reply
    yield _name_surface(episode.model, "model")
    yield _name_surface(sent.path, "request, path")
    for query in dict.fromkeys((sent.query, unquote_plus(sent.query))):
        yield _name_surface(query, "request, query")
    for of, headers in (("request", sent.headers), ("answer", reply.headers)):
        yield from (_name_surface(value, f"{of}, header {name}") for name, value in headers)
    yield _Surface(sent.body, partial(_locate_in_body, "request, body"))
    if reply.frames is None:
        yield _Surface(reply.body, partial(_locate_in_body, "answer, body"))
        yield from _list_joined((_decode(reply.body),), "answer, body, in pieces")
    else:
        texts = tuple((at, _show_message(frame)) for at, frame in reply.frames)
        # all at once, which is faster than one by one
        yield _Surface(b"".join([text for _, text in texts]), partial(_locate_in_frames, texts))
        yield from _list_joined(tuple(join_data(frame) for _, frame in reply.frames), "answer, in pieces")


def _show_message(frame: bytes) -> bytes:
    """Return an event; of a message of Amazon's event streams its text, which may be in base64 there."""
    if not is_prelude(frame) or (data := join_data(frame)) is None:
        return frame
    return write_event(Frame(data.encode("utf-8", "surrogateescape")))


def _list_joined(events: tuple[str | None, ...], of: str) -> Iterator[_Surface]:
    for joined in join_deltas(events):
        first = joined.pieces[0]
        last = joined.pieces[-1]
        within = f", events {first.event + 1} to {last.event + 1}" if first.event != last.event else ""
        yield _name_surface(joined.text, of + within)


def _name_surface(text: str, where: str) -> _Surface:
    return _Surface(text.encode("utf-8", "surrogatepass"), lambda _data, _found: where)


def _locate_in_body(of: str, data: bytes, found: bytes) -> str:
    path = find_path(try_parse(_decode(data)), _decode(found))
    return f"{of}, {path or f'line {data.count(bytes((10,)), 0, data.index(found)) + 1}'}"


def _locate_in_frames(frames: Sequence[RecordedEvent], _data: bytes, found: bytes) -> str:
    for number, frame in enumerate((_unescape(frame) for _, frame in frames), 1):
        if found in frame:
            path = find_path(try_parse(join_data(frame) or ""), _decode(found))
            return f"answer, event {number}" + (f", {path}" if path else "")
    return "answer"


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _unescape(data: bytes) -> bytes:
    if b"\\" not in data:
        return data
    return _ESCAPED.sub(lambda found: bytes((int(found[1], 16),)) if found[1] else b"/", data)


# Letters that some JSON writers escape needlessly, which must not hide a secret.
_ESCAPED = re.compile(rb"\\{1,8}(?:u00(2[013-9a-f]|[346][0-9a-f]|5[0-9abd-f]|7[0-9a-e])|/)", re.IGNORECASE)
