"""Compiled JMESPath expressions find what the library's interpreter finds."""

import json
from typing import Any

import jmespath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.rules.match.expressions import compile_expression, find_needed
from mockserver.rules.match.predicates import is_true

NAMES = st.sampled_from(("messages", "role", "content", "n", "tools", "missing"))
LITERALS = st.sampled_from(
    ("'user'", "''", "`0`", "`1`", "`1.0`", "`2`", "`true`", "`false`", "`null`", "`[]`", "`{}`")
)
CALLS = (
    "length({})", "keys({})", "not_null({}, n)", "contains({}, 'user')", "sort_by({}, &role)", "type({})",
    "starts_with({}, 'us')", "ends_with({}, 'er')", "reverse({})", "to_string({})", "join('u', {})",
)  # fmt: skip


def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def form(template: str) -> st.SearchStrategy[str]:
        return st.lists(inner, min_size=2, max_size=2).map(lambda parts: template.format(*parts))

    forms = ("{}.{}", "({}) | {}", "{} && {}", "{} || {}", "({})[?{}]", "({})[*].{}", "({})[].{}", "[{}, {}]", "!({})")
    more = ("({})[0]", "({})[-1]", "({})[:2]", "({}).*", "({})[?{} == `1`].n", "{{a: {}}}", "({})[?@ == {}]")
    compared = st.tuples(inner, st.sampled_from(("==", "!=", "<", ">=")), LITERALS).map(" ".join)
    called = st.tuples(st.sampled_from(CALLS), inner).map(lambda pair: pair[0].format(pair[1]))
    return st.one_of(*map(form, (*forms, *more)), compared, called)


EXPRESSIONS = st.recursive(st.one_of(NAMES, LITERALS, st.just("@")), grow, max_leaves=6)
SCALARS = st.sampled_from(("user", "", 0, 1, 1.0, 2, True, False, None))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)


def found_by_the_library(text: str, value: Any) -> Any:
    try:
        return jmespath.search(text, value)
    except (ValueError, ArithmeticError, TypeError):
        return None


@settings(max_examples=1_000, deadline=None)
@given(EXPRESSIONS, VALUES)
def test_any_expression_finds_what_the_library_finds(text: str, value: Any) -> None:
    try:
        evaluate = compile_expression(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            jmespath.compile(text)
    else:
        assert repr(evaluate(value)) == repr(found_by_the_library(text, value))  # 1 is not 1.0, nor True
        if is_true(evaluate(value)):
            assert find_needed(text) in json.dumps(value).encode()


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("messages[?name == 'ann']", b"ann"),
        ("messages[?name == 'ann'].content", b"ann"),
        ("user == 'u-1' && messages[?name == 'someone']", b"someone"),
        ("contains(messages[-1].content, 'order 7')", b"order 7"),
        ("messages[*].content | contains(@, 'order')", b""),
        ("user == 'u-1' || user == 'u-2'", b""),
        ("!(user == 'u-1')", b""),
        ("user != 'u-1'", b""),
        ("type(user) == 'string'", b""),
        ("contains(to_string(@), '1,')", b""),
        ("map(&to_string(@), tools)[?@ == '5']", b""),
        ("length(messages[?name == 'ann']) == `0`", b""),
        ("path == 'a/b'", b""),
        ("user == 'J\u00fcrgen'", b""),
        ("user == ''", b""),
        ("n == `2`", b""),
    ],
)
def test_what_an_expression_needs_is_found_where_it_is_obvious(text: str, needed: bytes) -> None:
    assert find_needed(text) == needed
