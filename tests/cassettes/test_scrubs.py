"""The user's rules: what they take out, what they leave as it was written, and that doing it twice changes nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.cassettes.redaction.redact import REGEX_SECONDS, RedactionRules
from mockserver.config.cassettes import Scrub
from mockserver.config.errors import CassetteError


def path(text: str, instead: str = "<x>") -> Scrub:
    """A rule for what stands somewhere."""
    return Scrub(path=text, placeholder=instead)


def look(text: str, instead: str = "<x>") -> Scrub:
    """A rule for what looks so."""
    return Scrub(regex=text, placeholder=instead)


BODIES = [
    ((path("$.user"),), '{ "user" : "me",\n "a":1 }', '{ "user" : "<x>",\n "a":1 }'),
    ((path("$.user"),), '{"user": null}', '{"user": null}'),
    ((path("$.user"),), '{"user": 12}', '{"user": "<x>"}'),
    ((path("$.user", "0"),), '{"user": 12}', '{"user": 0}'),
    ((path("$.user", "-1.5e3"),), '{"user": "12"}', '{"user": "-1.5e3"}'),
    ((path("$.user", "true"),), '{"user": false}', '{"user": true}'),
    ((path("$.user", "true"),), '{"user": 7}', '{"user": "true"}'),
    ((path("$.user", "null"),), '{"user": 7}', '{"user": "null"}'),
    ((path("$.user", "é"),), '{"user": "a"}', '{"user": "\\u00e9"}'),
    ((path("$.user", "é"),), '{"user": "ü"}', '{"user": "é"}'),
    ((path("$.user", 'a"b'),), '{"user": "a"}', '{"user": "a\\"b"}'),
    (
        (path("$.meta"),),
        '{"meta": {"a": "b", "c": ["d", 1, null]}}',
        '{"meta": {"a": "<x>", "c": ["<x>", "<x>", null]}}',
    ),
    ((path("$..name"),), '{"name":"a","b":[{"name":"c"}]}', '{"name":"<x>","b":[{"name":"<x>"}]}'),
    ((path("$.a"), path("$.a.b", "<y>")), '{"a":{"b":"c"}}', '{"a":{"b":"<x>"}}'),
    ((look(r"\d{4}"),), '{"a":"call 1234 now","b":1234,"1234":12345}', '{"a":"call <x> now","b":"<x>","<x>":12345}'),
    ((look(r"\d{4}", "0000"),), '{"b":1234}', '{"b":"0000"}'),
    ((look(r"\d{4}", "7"),), '{"b":1234}', '{"b":7}'),
    ((look(r"true|null|\w+"),), '{"b":[true,null,"true"]}', '{"<x>":[true,null,"<x>"]}'),
    ((look('say "hi"'),), '{"a":"I say \\"hi\\""}', '{"a":"I <x>"}'),
    ((look("é"),), '{"a":"caf\\u00e9"}', '{"a":"caf<x>"}'),
    ((look("x*"),), '{"a":"abc"}', '{"a":"abc"}'),
    ((look(".+"),), "not JSON", "<x>"),
    ((look("a"), path("$.b")), "a=1&b=a", "<x>=1&b=<x>"),
    ((look(".+"),), "{broken", "<x>"),
    ((look("a"),), '"a text"', '"<x> text"'),
]


@pytest.mark.parametrize(("rules", "body", "left"), BODIES)
def test_a_body(rules: tuple[Scrub, ...], body: str, left: str) -> None:
    scrubs = RedactionRules(rules)
    assert scrubs.body(body.encode()).decode() == left
    assert scrubs.body(left.encode()).decode() == left


def test_a_body_that_has_nothing_of_it_is_the_very_same() -> None:
    body = b'{"a":1}'
    assert RedactionRules((path("$.b"), look("b"))).body(body) is body
    assert RedactionRules().body(body) is body
    assert RedactionRules().text("a") == "a"
    assert RedactionRules().either("a") == "a"


def test_bytes_that_are_no_text_stay() -> None:
    assert RedactionRules((look("a"),)).body(b"\xffa\xfe") == b"\xff<x>\xfe"


def test_what_a_rule_put_in_is_left_alone_by_all() -> None:
    scrubs = RedactionRules((look("secret", "<user>"), look("user", "<y>"), look(r"\w+", "<z>")))
    assert scrubs.text("secret user <API_KEY>") == "<user> <y> <API_KEY>"
    assert scrubs.text("secret word") == "<user> <z>"


def test_spans_stand_in_order_and_apart() -> None:
    scrubs = RedactionRules((look("bc", "1"), look("ab", "2"), look("e", "3")))
    assert list(scrubs.spans("abcde")) == [(0, 2, "2"), (4, 5, "3")]


@pytest.mark.parametrize("body", [b'{"a":"' + b"a" * 60 + b'!"}', b"a" * 60 + b"!"])
def test_a_pattern_that_takes_too_long_says_so(body: bytes) -> None:
    with pytest.raises(CassetteError) as refused:
        RedactionRules((look("(?:a|aa)+$"),)).body(body)
    said = f'scrub: the pattern "(?:a|aa)+$" takes over {REGEX_SECONDS:g} s, or all memory, on a text; make it simpler'
    assert str(refused.value) == said


@given(st.text(), st.sampled_from([r"\w+", "a", r"\S", "[<>]", "x|", "(?<=a)b", "s.r"]))
def test_twice_is_as_good_as_once(text: str, pattern: str) -> None:
    scrubs = RedactionRules((look(pattern, "<scrubbed>"),))
    once = scrubs.text(text)
    assert scrubs.text(once) == once
