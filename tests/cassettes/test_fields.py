"""An episode from a document: what it may hold, and what is said of all else."""

import pytest

from mockserver.cassettes.format import entries
from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode, Recorded, Sent

HEAD = "version: 1\n---\n"
LEAST = """\
dialect: openai
request: {method: GET, path: /v1/models}
reply: {status: 200, sha256: unknown}
"""


def read(text: str) -> Episode:
    (entry,) = entries((HEAD + text).encode(), "c.yaml")
    return entry.episode


def test_little_is_needed() -> None:
    assert read(LEAST) == Episode("openai", "", "", Sent("GET", "/v1/models"), Recorded(200))


def test_all_that_may_stand_there() -> None:
    text = """\
call: what people read
at: 2026-01-31T13:00:00.5+01:00
dialect: openai
operation: chat
model: 4.50
request:
  method: POST
  path: /v1/x
  query: a=b
  headers: {x: 1, y: yes}
  body: {json: {a: 1.0}, style: spaced}
reply:
  status: 429
  headers: [[a, 1], [a, 2]]
  took: 12.5
  body: {text: "x"}
  style: spaced
  ends: crlf
  frames:
    - {at: 1, data: {a: 1}}
  sha256: unknown
"""
    assert read(text) == Episode(
        "openai",
        "chat",
        "4.50",
        Sent("POST", "/v1/x", "a=b", (("x", "1"), ("y", "yes")), b'{"a": 1.0}'),
        Recorded(429, (("a", "1"), ("a", "2")), b"x", ((0.001, b'data: {"a": 1}\r\n\r\n'),), 0.0125),
        1_769_860_800.5,
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("dialect: openai\n", "", '3:1: an episode needs "dialect"; was the file cut off?  [request: {'),
        ("dialect", "dialekt", '3:1: an episode has no "dialekt"; did you mean "dialect"?  [dialekt: openai]'),
        ("openai", "[a]", "3:10: write a text here  [dialect: [a]]"),
        (
            "openai\n",
            "openai\nat: soon\n",
            "4:5: write a time in UTC here, such as 2026-01-31T12:00:00Z  [at: soon]",
        ),
        (
            "openai\n",
            "openai\nat: 2026-01-31\n",
            "4:5: write a time in UTC here, such as 2026-01-31T12:00:00Z  [at",
        ),
        ("{method: GET, path: /v1/models}", "a", "4:10: a request must be a table  [request: a]"),
        ("method: GET, ", "", '4:10: a request needs "method"; was the file cut off?  [request: {path: /v1/models}]'),
        ("method: GET", "method: GET, body: a", "4:30: a body is one of json, text and base64  [request: {me"),
        ("method: GET", "method: GET, headers: a", "4:33: headers are a table, or a list of [name, value]  [req"),
        ("method: GET", "method: GET, headers: [[a]]", "4:34: headers are a table, or a list of [name, value]  [req"),
        ("200", "20", "5:17: write a status from 200 to 599 here  [reply: {status: 20, sha256: unknown}]"),
        ("200", "[200]", "5:17: write a status from 200 to 599 here  [reply: {status: [200], sha256: unknown}]"),
        ("200", "101", "5:17: write a status from 200 to 599 here  [reply: {status: 101, sha256: unknown}]"),
        ("200", "600", "5:17: write a status from 200 to 599 here  [reply: {status: 600, sha256: unknown}]"),
        ("200", '200, headers: {"a\\nb": c}', "5:32: no header can have the name 'a\\nb'  [reply: {"),
        ("200", "200, headers: [[é, c]]", "5:33: no header can have the name '\\xe9'  [reply: {"),
        ("200", '200, headers: {a: "b\\r\\nc: d"}', "5:35: a header is one line of Latin-1 characters  [re"),
        ("200", "200, headers: {a: ☃}", "5:35: a header is one line of Latin-1 characters  [re"),
        ("200", "200, headers: {a: [b]}", "5:35: write a text here  [reply: {"),
        ("200", "200, took: -1", "5:28: write milliseconds here, such as 12 or 12.5  [reply: {"),
        ("200", "200, frames: a", "5:30: write a list of events here  [reply: {"),
        ("200", "200, frames: [0]", "5:31: an event has one of data, raw and base64  [reply: {"),
        ("200", "200, ends: cr", "5:28: lines end with lf or crlf  [reply: {"),
        ("200", "200, frames: [], ends: cr", "5:40: lines end with lf or crlf  [reply: {"),
        (
            "sha256: unknown",
            "sha256: 12ab",
            "5:30: write 64 hex digits here, or unknown; was the file cut off?  [re",
        ),
        (
            ", sha256: unknown",
            "",
            '5:8: the "sha256" of the body is missing: was the file cut off? '
            "In a reply written by hand, use sha256: unknown  [reply: {status: 200}]",
        ),
    ],
)
def test_what_does_not_fit_is_told_where_it_stands(old: str, new: str, told: str) -> None:
    assert LEAST.replace(old, new) != LEAST
    with pytest.raises(CassetteError) as caught:
        read(LEAST.replace(old, new))
    assert str(caught.value).startswith(f"c.yaml:{told}")


def test_placeholders_are_known_by_their_place_only() -> None:
    text = LEAST.replace("{status: 200, sha256: unknown}", "\n  status: 200\n  frames:\n    - 0\n  sha256: unknown")
    with pytest.raises(CassetteError, match=r"c\.yaml:8:7: an event has one of data, raw and base64"):
        read(text)
