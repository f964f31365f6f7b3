"""The index never leaves out a rule that holds, and leaves out most that do not; a rule holds if its tree does."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.call import Call
from mockserver.rules.match.conditions import All, Condition, Groups, Leaf
from mockserver.rules.match.index import FewIndex, Index, JoinedIndex, RuleIndex, find_pinned
from mockserver.rules.match.parse import compile_when
from tests.kit.calls import Web, call
from tests.kit.rules import compile_condition

ASKED = call("Where is order 00042, Straße 5?", tools=("get_order",), raw={"n": 1, "stop": ["a", "b"], "o": {"x": 1}})

# Tables that cannot hold for ASKED, each found out by the index alone, where there are enough of them.
LEFT_OUT: list[dict[str, Any]] = [
    {"model": "o3"},
    {"model": ["o3", "o4-m*"]},
    {"last_user": {"contains": "order 00043"}},
    {"last_user": "*order 00043*"},
    {"last_user": {"starts_with": "When"}},
    {"last_user": {"regex": r"order 00043 (?P<x>\w+)"}},
    {"last_user": {"contains": "STRASSEN", "ignore_case": True}},
    {"tools": "get_sky"},
    {"tools": {"includes": ["get_order", "get_the_sky"]}},
    {"param.n": 2},
    {"param.stop": {"includes": "c"}},
    {"body": {"n": 2}},
    {"any": [{"last_user": "*order 00043*"}, {"model": "o3"}]},
    {"all": [{"model": "gpt-4o"}, {"model": "gpt-4o-mini"}]},
]

# Tables that do not hold either, but give the index nothing to look up.


@pytest.mark.parametrize("when", LEFT_OUT, ids=str)
def test_left_out(when: dict[str, Any]) -> None:
    assert candidates([when] * 9, ASKED) == []


@pytest.mark.parametrize("when", [{"body": {"n": 2}}, {"any": [{"body": {"n": 2}}, {"model": "o3"}]}], ids=str)
def test_few_rules_are_tried_rather_than_looked_up_by_a_field_of_their_own(when: dict[str, Any]) -> None:
    named = [{"model": model} for model in ("o1", "o3", "o4")]
    assert candidates([when, *named], ASKED) == [0]
    assert candidates([{"tools": "get_sky"}, *named], ASKED) == [0]
    assert candidates([{"tools": "get_sky", "model": "o5"}, *named], ASKED) == []


def test_of_many_rules_that_share_a_condition_only_the_right_one_is_tried() -> None:
    tables = [{"operation": "chat", "last_user": {"contains": f"order {n:05d}"}} for n in range(1000)]
    assert candidates(tables, ASKED) == [42]


@pytest.mark.parametrize("others", [0, 20])  # few pieces are looked for otherwise than many
def test_a_piece_is_found_across_the_windows_of_a_long_text(others: int) -> None:
    tables = [{"last_user": {"contains": "needle in the hay"}}, {"last_user": {"contains": "needle"}}]
    tables += [{"last_user": {"contains": f"needle {number}"}} for number in range(others)]
    for at in range(32_768 - 20, 32_768 + 3):
        assert candidates(tables, call("x" * at + "needle in the hay" + "y" * 40_000)) == [0, 1]


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ({"last_user": "*order 00042*"}, True),
        ({"last_user": "*order 00042*", "model": "o3"}, False),
        ({"last_user": "order 00042*"}, False),
        ({"last_user": {"contains": ["order 00042", "order 00043"]}}, False),
        ({"all": [{"last_user": "*order 00042*"}, {"not": {"last_user": "*order 00042*"}}]}, False),
        ({"last_user": {"contains": "is  order", "ignore_space": True}}, True),
        ({"last_user": {"contains": "is order 00042", "ignore_space": True}, "tools": "get_sky"}, False),
    ],
    ids=str,
)
def test_what_the_index_has_not_checked_is_left(when: dict[str, Any], holds: bool) -> None:
    index = RuleIndex([compile_condition(when)] * 3)
    assert find_rows(index, ASKED) == ([0, 1, 2] if holds else [])


def test_halves_of_surrogate_pairs_hide_nothing() -> None:
    assert candidates([{"last_user": {"contains": "order"}}], call("\ud800 order \udfff")) == [0]


PIECES = ["abc", "ABC", "ab", "  ", " abc  abc", "ß", "SS", "İstanbul", "i̇st", "*", r"\*", "\n", "\ud800", "x", "ſab"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
FLAGS = st.fixed_dictionaries({}, optional={"ignore_case": st.booleans(), "ignore_space": st.booleans()})
TEXT_TESTS = st.one_of(
    TEXTS,
    st.lists(TEXTS, min_size=1, max_size=3),
    st.builds(
        lambda name, text, flags: {name: text, **flags},
        st.sampled_from(["equals", "glob", "contains", "starts_with", "ends_with", "regex"]),
        TEXTS,
        FLAGS,
    ),
    st.builds(lambda texts, flags: {"contains": texts, **flags}, st.lists(TEXTS, min_size=1, max_size=2), FLAGS),
)
JSON_TESTS = st.one_of(st.sampled_from([0, 1, 1.0, True, False, "abc"]), TEXT_TESTS)
TOOLS_TESTS = st.one_of(
    TEXTS,
    st.lists(TEXTS, max_size=2),
    st.builds(lambda texts, flags: {"includes": texts, **flags}, st.lists(TEXTS, min_size=1, max_size=2), FLAGS),
)
FIELD_TESTS: dict[str, st.SearchStrategy[Any]] = {
    "last_user": TEXT_TESTS,
    "model": TEXT_TESTS,
    "header.x": TEXT_TESTS,
    "param.p": JSON_TESTS,
    "tools": TOOLS_TESTS,
    "turn": st.sampled_from([0, [0, 1], {"lt": 1}]),
    "stream": st.booleans(),
}
WHENS = st.recursive(
    st.fixed_dictionaries({}, optional=FIELD_TESTS),
    lambda inner: st.one_of(
        st.builds(lambda tables: {"any": tables}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda tables: {"all": tables}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda table: {"not": table or {"turn": 1}}, inner),
    ),
    max_leaves=4,
)
CALLS = st.builds(
    lambda text, model, tools, param, stream: call(
        text, model=model, tools=tools, stream=stream, raw={"p": param}, web=Web({"x": "abc"})
    ),
    TEXTS,
    TEXTS,
    st.lists(TEXTS, max_size=2),
    st.one_of(st.sampled_from([0, 1, True, None, ["abc"], {"a": 1}]), TEXTS),
    st.booleans(),
)


@settings(max_examples=300)
@given(st.lists(WHENS, max_size=6), CALLS)
def test_every_rule_that_holds_is_a_candidate(tables: list[dict[str, Any]], asked: Call) -> None:
    conditions = [compile_when(table, lambda message, path: None) for table in tables] * 9  # fewer are only tried
    holding = [row for row, condition in enumerate(conditions) if condition.holds(asked) is not None]
    index = RuleIndex(conditions)
    found = list(index.find_candidates(asked))
    assert set(holding) <= set(found)
    assert found == sorted(set(found))
    assert find_rows(index, asked) == holding


PATTERNS = ["(?P<one>[ab])", "(?P<two>[bc])", "(?P<one>b)(?P<two>c)?", "(?P<one>x)|(?P<two>a)", "b"]
PATTERN_TESTS = st.builds(lambda pattern: {"regex": pattern}, st.sampled_from(PATTERNS))
OFTEN_TRUE: dict[str, st.SearchStrategy[Any]] = {
    "model": st.sampled_from(["a*", "b*", {"contains": "b"}]),
    "last_user": PATTERN_TESTS,
    "conversation": PATTERN_TESTS,
    "body": st.sampled_from(["p", {"p": "abc"}, {"length(p)": 3}]),
    "turn": st.sampled_from([0, 1, {"lt": 1}]),
    "stream": st.booleans(),
}
TREES = st.recursive(
    st.fixed_dictionaries({}, optional=OFTEN_TRUE),
    lambda inner: st.one_of(
        st.builds(lambda tables: {"any": tables, "turn": 0}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda tables: {"model": "a*", "all": tables}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda table: {"not": table or {"turn": 1}}, inner),
    ),
    max_leaves=6,
)
SHORT_CALLS = st.builds(
    lambda text, model, param, stream: call(text, model=model, stream=stream, raw={"p": param}),
    st.sampled_from(["abc", "bca", "x"]),
    st.sampled_from(["ab", "ba"]),
    st.sampled_from(["abc", "", None]),
    st.booleans(),
)


@settings(max_examples=300)
@given(TREES, SHORT_CALLS)
def test_a_compiled_condition_holds_where_its_tree_does(table: dict[str, Any], asked: Call) -> None:
    condition = compile_when(table, lambda message, path: None)
    assert condition.holds(asked) == groups_of_tree(condition, asked)


def groups_of_tree(condition: Condition, asked: Call) -> Groups | None:
    if isinstance(condition, Leaf):
        found = condition.test(condition.field.read(asked))
        return {} if found is True else found or None
    each = [groups_of_tree(part, asked) for part in condition.parts]
    holding = [groups for groups in each if groups is not None]
    if not isinstance(condition, All):
        return holding[0] if holding else None
    return {name: text for groups in holding for name, text in groups.items()} if len(holding) == len(each) else None


@pytest.mark.parametrize(
    ("when", "values"),
    [
        ({}, None),
        ({"dialect": "azure"}, {"azure"}),
        ({"dialect": ["azure", "openai"], "model": "x"}, {"azure", "openai"}),
        ({"dialect": ["azure", "op*"]}, None),
        ({"not": {"dialect": "azure"}}, None),
        ({"any": [{"dialect": "azure", "model": "a very long name"}, {"dialect": "openai"}]}, {"azure", "openai"}),
        ({"all": [{"dialect": ["azure", "openai"]}, {"dialect": "azure"}]}, {"azure"}),
    ],
)
def test_pinned(when: dict[str, Any], values: set[str] | None) -> None:
    assert find_pinned(compile_condition(when), "dialect") == values


def candidates(tables: Sequence[dict[str, Any]], asked: Call) -> list[int]:
    return list(RuleIndex([compile_condition(table) for table in tables]).find_candidates(asked))


def test_two_indexes_are_one() -> None:
    tables: list[dict[str, Any]] = [{"model": "a"}, {}, {"model": "b"}, {"last_user": "*long*"}] * 3
    conditions = [compile_condition(table) for table in tables]
    joined, whole = JoinedIndex(RuleIndex(conditions[:8]), FewIndex(conditions[8:])), RuleIndex(conditions)
    for model, text in (("a", "long"), ("b", "x"), ("c", "long")):
        asked = call(text, model=model)
        assert find_rows(joined, asked) == find_rows(whole, asked)


def find_rows(index: Index, asked: Call) -> list[int]:
    return [row for row in index.find_candidates(asked) if index.left[row].check(asked)]
