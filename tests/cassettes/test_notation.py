"""Values as lines: plain where they can be, quoted where they must be, blocks where there are several lines."""

from textwrap import dedent

import pytest
import yaml

from mockserver.cassettes.bodies import Verbatim
from mockserver.cassettes.sse_yaml import flow, quoted, scalar, word, yaml_lines
from tests.cassettes import hostile


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("What is the weather in Oslo?", "What is the weather in Oslo?"),
        ("/v1/chat", "/v1/chat"),
        ("a:b c#d", "a:b c#d"),
        ("été", "été"),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ("a ", '"a "'),
        ("a:", '"a:"'),
        ("12", '"12"'),
        ("yes", '"yes"'),
        ("No", '"No"'),
        ("null", '"null"'),
        ("", '""'),
        ('say "a: b"', "'say \"a: b\"'"),
        ('it\'s "a: b"', "'it''s \"a: b\"'"),
        ('say: "a\\b"', '"say: \\"a\\\\b\\""'),
        ("a\u2028b", '"a\\u2028b"'),
        ("- a", '"- a"'),
    ],
)
def test_scalars(text: str, shown: str) -> None:
    assert scalar(text) == shown
    assert yaml.safe_load(f"a: {shown}") == {"a": text}


def test_words_stand_without_quotes_in_a_flow_too() -> None:
    assert [word(text) for text in ("a.b-c_d", "on", "a b", "a}", "é")] == ["a.b-c_d", '"on"', '"a b"', '"a}"', '"é"']


def test_a_flow_is_one_line() -> None:
    assert flow({"a": ["b\n", Verbatim("1.50"), None, True, "\x85"]}) == '{"a": ["b\\n", 1.50, null, true, "\\u0085"]}'


@pytest.mark.parametrize("text", hostile.HOSTILE)
def test_quotes_hold_anything(text: str) -> None:
    assert yaml.safe_load(f"a: {quoted(text)}") == {"a": text}
    assert quoted(text).isprintable() or not text.isprintable()


def test_tables_and_lists() -> None:
    shown = {
        "a": {"b": {}, "c": [], "d": [Verbatim("1"), Verbatim("2.0")]},
        "e": [{"f": "g", "h": ["i"]}, ["j", ["k"]], "l\nm", None],
        "n": "o\n\n",
        "p": "  q\nr",
        "s": "\n\n",
        "t": "u\r\nv",
    }
    assert "\n".join(yaml_lines(shown)) + "\n" == dedent(
        """\
        a:
          b: {}
          c: []
          d: [1, 2.0]
        e:
          - f: g
            h:
              - i
          -
            - j
            -
              - k
          - |-
            l
            m
          - null
        "n": |+
          o

        p: |2-
            q
          r
        s: "\\n\\n"
        t: "u\\r\\nv"
        """
    )
    assert yaml.safe_load("\n".join(yaml_lines(shown)))["e"] == [{"f": "g", "h": ["i"]}, ["j", ["k"]], "l\nm", None]
