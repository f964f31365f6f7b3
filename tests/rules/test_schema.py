from typing import Annotated, Any, Literal

import pytest
from pydantic_core import ValidationError

from mockserver.config.settings import Settings
from mockserver.config.tables import (
    BaseTable,
    ByShape,
    Headers,
    LazyType,
    NonNegativeInt,
    Table,
    Tag,
    TextOrNumber,
    field,
    make_table,
)
from mockserver.config.types import Duration, Share
from mockserver.config.validation_errors import find_mistakes, quote_keys
from mockserver.core.plan import FINISHES, OWN_FINISHES
from mockserver.delivery.faults import FAULTS
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.rules.schema import BESIDE, RuleSpec, make_fault_table
from tests.kit.rules import find_rule_mistakes, find_then_mistakes, load_rule_text
from tests.rules.test_errors import RAW as RAW


class Circle(Table):
    type: Literal["circle"]
    radius: int


class Square(Table):
    type: Literal["square"]
    side: int


class Sample(Table):
    nullable = frozenset(("anything",))

    text: str = ""
    wait: Duration = 0.0
    part: Share = 0.0
    count: NonNegativeInt = 0
    code: TextOrNumber = ""
    headers: Headers = field(default_factory=dict)
    anything: object = 1
    pick: Annotated[
        Annotated[str, Tag("<text>")] | Annotated[list[int], Tag("<list>")], ByShape("a text or a list")
    ] = ""
    shape: Annotated[Circle | Square, field(discriminator="type")] | None = None


BAD = [
    ({"text": 1}, "string_type", ("text",)),
    ({"text": None}, "empty", ()),
    ({"other": 1}, "extra_forbidden", ("other",)),
    ({"wait": "soon"}, "expected", ("wait",)),
    ({"part": 2}, "expected", ("part",)),
    ({"count": -1}, "greater_than_equal", ("count",)),
    ({"code": 1.5}, "int_type", ("code", "<number>")),
    ({"pick": 1}, "expected", ("pick",)),
    ({"pick": ["a"]}, "int_type", ("pick", "<list>", 0)),
    ({"shape": {"type": "square", "radius": 2, "side": 1}}, "extra_forbidden", ("shape", "square", "radius")),
    ({"shape": {"type": "triangle"}}, "union_tag_invalid", ("shape",)),
    ({"shape": {"side": 1}}, "union_tag_not_found", ("shape",)),
    ({"shape": "circle"}, "model_attributes_type", ("shape",)),
    ([], "model_type", ()),
]


@pytest.mark.parametrize(("table", "kind", "path"), BAD)
def test_what_does_not_is_one_mistake(table, kind, path):
    with pytest.raises(ValidationError) as caught:
        Sample.model_validate(table)
    (error,) = caught.value.errors()
    assert (error["type"], error["loc"]) == (kind, path)


ALL = {**FAULTS, **ANSWER_FAULTS}


@pytest.mark.parametrize("name", ALL)
def test_every_table_is_described(name: str) -> None:
    fields = make_fault_table(name, ALL[name]).model_fields
    assert all(field.description for field in fields.values())
    assert set(BESIDE) <= set(fields)


@pytest.mark.parametrize("name", ALL)
def test_the_example_of_every_table_loads(name: str) -> None:
    example = make_fault_table(name, ALL[name]).example
    assert load_rule_text(f"rules: [{{then: {{faults: [{example}]}}}}]")


IN_FILES = {
    "- a": '1:1: a rules file must be a table; put this list under "rules:"',
    "version: 2": '1:10: "version" expects 1, not 2',
    "version: '1'": '1:10: "version" expects 1, not "1"; write it without quotes',
    "rules: [3]": "1:9: a rule expects a table, not 3; write {when: {model: gpt-4o*}, then: {text: Hello}}",
    "rules: [{}]": '1:9: a rule needs "then"; write {when: {model: gpt-4o*}, then: {text: Hello}}',
    "rules: [{then: {text: a}, wen: {}}]": '1:27: unknown key "wen"; did you mean "when"?',
    "rules: [{reply: Hi}]": '1:10: unknown key "reply"; did you mean "then"?',
    "rules: [{last_user: Hi, then: {text: a}}]": '1:10: unknown key "last_user"; write it into "when"',
    "rules: [{then: {text: a, faults: cut}}]": '1:34: "faults" expects a list, not "cut"; put [ ] around it',
    "rules: [{then: {text: a}, faults: [cut]}]": '1:27: unknown key "faults"; write it into "then"',
    "rules: [{when: , then: {text: a}}]": '1:10: "when" has no value; give it one, or remove the key',
    "rules: [{name: '', then: {text: x}}]": '1:16: "name" expects a string that is not empty, not ""',
    "rules: [{times: 0, then: {text: x}}]": '1:17: "times" expects at least 1, not 0',
    "rules: [{state: asked, then: {text: x}}]": (
        '1:17: "state" expects a table, not "asked"; write {is: start, becomes: asked}'
    ),
}

WORDS = (*FINISHES, *OWN_FINISHES)
IN_THEN = {
    "{tool_calls: {name: a}}": (
        """13: "tool_calls" expects a list, not {"name": "a"}; put "- " before each item, or [ ] around them"""
    ),
    "{text: 42}": '7: "text" expects a string, not 42; put it in quotes',
    "{status: incomplete}": (
        '9: "status" expects pending, queued, validating, validating_files, uploaded, processed, running, '
        'in_progress or one of 10 more, not "incomplete"; did you mean "completed"?'
    ),
    "{status: 503}": (
        '9: "status" expects a status of a file, batch or job such as failed, or a list of them '
        "(for HTTP, write error: 503), not 503"
    ),
    "{web_search_call: {query: a}}": ('1: unknown key "web_search_call"; write items: [{type: web_search_call, ...}]'),
    "{error: []}": ('8: "error" expects a status such as 429, a short name such as rate_limit, or a table, not []'),
    "{error: {status: 99}}": '17: "status" expects at least 400, not 99',
    "{text: a, finish: stopp}": (
        f'18: "finish" expects {", ".join(WORDS[:8])} or one of {len(WORDS) - 8} more, not "stopp";'
        ' did you mean "stop"?'
    ),
    "{text: a, chunks: words}": '18: "chunks" expects token, word or char, not "words"; did you mean "word"?',
    "{text: a, chunks: 3}": '18: "chunks" expects token, word, char, {size: 7} or a list of pieces, not 3',
    "{text: a, logprobs: [0.5]}": '21: an item of "logprobs" expects at most 0, not 0.5',
    "{text: a, logprobs: [-1, x]}": '25: an item of "logprobs" expects a number, not "x"',
    "{text: a, usage: {prompt: 3}}": '18: unknown key "prompt"; did you mean "prompt_tokens"?',
    "{content_filter: {}}": '17: "content_filter" needs "on"; write {on: completion, category: violence}',
    "{echo: false}": '7: "echo" expects true, not false',
}


@pytest.mark.parametrize(("text", "mistake"), IN_FILES.items())
def test_the_shape_of_a_file(text, mistake):
    assert find_rule_mistakes(text) == [mistake]


@pytest.mark.parametrize(("then", "mistake"), IN_THEN.items())
def test_the_shape_of_then(then, mistake):
    assert find_then_mistakes(then) == [mistake]


def test_a_far_key_lists_what_could_stand_there():
    (mistake,) = find_then_mistakes("{zzz: a}")
    assert mistake.startswith('1: unknown key "zzz"; "then" accepts text, json, refusal, tool_calls, items, parts, ')


def test_one_rule_hides_nothing_of_another():
    text = "version: 3\nrules:\n  - {then: {txt: a, finish: x}, whn: {}}\n  - {then: {text: 1}}\n"
    assert [mistake.split(" ", 1)[0] for mistake in find_rule_mistakes(text)] == [
        "1:10:",
        "3:13:",
        "3:29:",
        "3:33:",
        "4:19:",
    ]


def test_keys_that_are_no_texts():
    with pytest.raises(ValidationError) as caught:
        RuleSpec.model_validate({"then": {"text": "a", "headers": {3: "x"}}, 4: 5})
    found = [(c.message, c.path, c.key) for c in find_mistakes(caught.value, RuleSpec, quote_keys("a rule"))]
    assert found == [
        ("a key must be a string, not 3", ("then", "headers"), False),
        ("a key must be a string, not 4", (), False),
    ]


class Leaf(BaseTable, title="leaf"):
    """A leaf."""

    kind: Literal["leaf"] = "leaf"
    size: Annotated[int, field(ge=1)] | None = field(None, alias="is", description="its size")


class Tree(BaseTable, strict=True):
    leaves: list[Leaf] = field(min_length=1, description="its leaves")
    below: list["Tree"] | None = None
    any: Annotated[Any, LazyType(lambda: Leaf)] = None


class Forest(BaseTable):
    tree: Tree
    secret: str = field("", repr=False)


def forest(**values: Any) -> Forest:
    return Forest.model_validate({"tree": {"leaves": [{"is": 3}], "any": {"is": 4}, **values}})


def test_a_table_may_contain_itself() -> None:
    found = forest(below=[{"leaves": [{}], "below": [{"leaves": [{"is": 2}]}]}])
    inner = ((found.tree.below or [])[0].below or [])[0]
    assert (inner.leaves[0].size, inner.model_fields_set, inner.below) == (2, {"leaves"}, None)


def test_a_mistake_far_within_has_its_whole_path() -> None:
    with pytest.raises(ValidationError) as caught:
        forest(below=[{"leaves": []}, {"leaves": [{"size": 1}], "any": {"is": 0}}])
    assert [(error["type"], error["loc"][1:]) for error in caught.value.errors()] == [
        ("too_short", ("below", 0, "leaves")),
        ("extra_forbidden", ("below", 1, "leaves", 0, "size")),
        ("greater_than_equal", ("below", 1, "any", "is")),
    ]


def test_what_was_stated_is_told_from_defaults() -> None:
    found = forest().tree
    assert found.model_dump(exclude_unset=True) == {"leaves": [{"size": 3}], "any": {"size": 4}}
    assert found.model_dump(exclude_none=True, by_alias=True)["leaves"] == [{"kind": "leaf", "is": 3}]
    copied = found.leaves[0].model_copy(update={"kind": "leaf"})
    assert (copied, copied.model_fields_set) == (found.leaves[0], {"size", "kind"})


def test_a_table_is_frozen_and_hides_secrets() -> None:
    found = Forest.model_validate({"tree": {"leaves": [{}]}, "secret": "sk-1"})
    with pytest.raises(AttributeError, match="Forest is frozen"):
        found.secret = ""
    assert repr(found) == "Forest(tree=Tree(leaves=[Leaf(kind='leaf', size=None)], below=None, any=None))"
    assert "hunter2" not in repr(Settings(control_token="hunter2"))


def test_a_table_with_bases_and_one_made_of_fields_are_the_same() -> None:
    class Wide(Leaf, strict=True):
        width: int

    made = make_table("Wide", Leaf, {"width": (int, field())}, __doc__="A leaf.")
    assert list(made.model_fields) == list(Wide.model_fields) == ["kind", "size", "width"]
    assert made.model_json_schema() == Wide.model_json_schema() | {"description": "A leaf."}
    assert Wide.model_config == {"title": "leaf", "strict": True}


def test_the_json_schema_is_what_pydantic_makes() -> None:
    from pydantic import ConfigDict, Field, create_model

    size = (Annotated[int, Field(ge=1)] | None, Field(None, alias="is", description="its size"))
    kind = (Literal["leaf"], "leaf")
    theirs = create_model("Leaf", __config__=ConfigDict(extra="forbid", title="leaf"), kind=kind, size=size)
    assert Leaf.model_json_schema() == theirs.model_json_schema() | {"description": "A leaf."}
