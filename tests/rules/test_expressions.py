"""Compiled JMESPath expressions find what the library's interpreter finds."""

from typing import Any

import jmespath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.rules.match.expressions import compile_expression

NAMES = st.sampled_from(("messages", "role", "content", "n", "tools", "missing"))
LITERALS = st.sampled_from(
    ("'user'", "''", "`0`", "`1`", "`1.0`", "`2`", "`true`", "`false`", "`null`", "`[]`", "`{}`")
)
CALLS = ("length({})", "keys({})", "not_null({}, n)", "contains({}, 'user')", "sort_by({}, &role)", "type({})")


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
