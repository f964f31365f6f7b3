"""Any episode that can be, made of what YAML and JSON are known to trip over."""

import json

from hypothesis import strategies as st

from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.core.json import Json

_WORDS = (
    "yes no on off y n null ~ = << - ? : # & * ! | > @ ` % 1e5 0o7 0x1f 012 1_000 1:30 .inf .nan -.inf 1.0 -0 "
    "2024-01-01 2024-01-01T00:00:00Z {} [] {a [a a: :a a#b 'a \"a a' {{x}} --- ... [DONE] true NULL True NaN inf"
)
HOSTILE = [
    *_WORDS.split(),
    "", " ", "  a", "a ", "a: b", "a #b", "a:", "- a", "? a", "\n", "\n\n", "a\nb", "a\nb\n", "a\nb\n\n", "\na",
    " a\nb", "\ta\nb", "a\n\tb", "a\n   \nb", "a \nb", "a\n---\nb", "---\nversion: 1\n",
    "    - {at: 1, data: {}}\n  frames:\n    - {at: 1, data: {}}", "\x85", "a\x85b\nc", "\u2028", "a\u2029\nb",
    "\ufeff", "\ufffe", "\x00", "\x07\n", "\x1b[31m", "\x7f", "\x80", "\x9f", "\xa0", "a\r\nb", "\r", "\t",
    "a\tb", "\\u0041", "\\", "\"'", "😀", "\U0010ffff", "日本語: はい", "a" * 1100, "é" * 1100 + "\n", "a, b", "x}",
    '"}', "', data: {}}",
]  # fmt: skip


def fit(text: str, signs: str | None = None) -> str:
    """What a header can hold of a text: in its value, or in its name, which has few signs."""
    if signs is None:
        return "".join(letter for letter in text if letter == "\t" or " " <= letter <= "~" or "\x80" <= letter <= "ÿ")
    return "".join(letter for letter in text if letter in signs or (letter.isascii() and letter.isalnum()))


texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.lists(st.sampled_from(HOSTILE), max_size=4).map("\n".join),
    st.lists(st.sampled_from(HOSTILE), max_size=4).map(" ".join),
)
trees = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
NUMBERS = ("1", "-0", "1.50", "1e5", "1E+05", "-1.0e-7", "10" * 2000, "0.1000", "1e999")


def dumped(tree: Json, layout: int, ascii_only: bool, end: str) -> str:
    """JSON in one of the ways that programs write it."""
    separators, indent = _LAYOUTS[layout]
    return json.dumps(tree, ensure_ascii=ascii_only, separators=separators, indent=indent) + end


_LAYOUTS: tuple[tuple[tuple[str, str] | None, int | str | None], ...] = (
    ((",", ":"), None),
    (None, None),
    (None, 2),
    (None, 4),
    (None, "\t"),
    (None, 3),
)
json_texts = st.one_of(
    st.builds(dumped, trees, st.integers(0, 5), st.booleans(), st.sampled_from(["", "\n", " ", "\r\n"])),
    st.sampled_from(NUMBERS).map(lambda number: f'{{"a":{number},"b":[{number},{number}]}}'),
    st.sampled_from(
        ['{"a":1,"a":2}', '"\\ud83d"', '["\\ud83d\\ude00"]', "[NaN]", '{"a":"\\/"}', '["\\u003c&"]', '"a"']
    ),
    st.integers(1, 150).map(lambda depth: "[" * depth + "]" * depth),
)
bodies = st.one_of(json_texts.map(str.encode), texts.map(str.encode), st.binary(max_size=40), st.just(b""))
names = st.one_of(st.just("event: a"), texts)
events = st.one_of(
    st.builds(
        lambda text, end: f"data: {text}{end}".encode(),
        st.one_of(json_texts, texts),
        st.sampled_from(["\n\n", "\r\n\r\n"]),
    ),
    st.builds(lambda name, text: f"event: {name}\ndata: {text}\n\n".encode(), texts, json_texts),
    st.sampled_from([b": ping\n\n", b"data:x\n\n", b"\n\n", b"data: a\ndata: b\n\n", b"event: x\n\n", b"data: a"]),
    bodies,
)
seconds = st.floats(0, 100_000, allow_nan=False)
header_names = texts.map(lambda text: fit(text, "!#$%&'*+-.^_`|~") or "x")
headers = st.lists(st.tuples(header_names, texts.map(fit)), max_size=4).map(tuple)
sent = st.builds(Sent, texts, texts, texts, headers, bodies)
replies = st.builds(
    Recorded,
    st.integers(200, 599),
    headers,
    bodies,
    st.one_of(st.none(), st.lists(st.tuples(seconds, events), max_size=6).map(tuple)),
    seconds,
)
episodes = st.builds(Episode, texts, texts, texts, sent, replies, st.floats(0, 4e9))
