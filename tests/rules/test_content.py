import pytest
from msgspec.structs import replace

from mockserver.config.source import Mistakes, read
from mockserver.core.call import Tool, ToolCall
from mockserver.core.draft import AFTER_LAST_TOKEN, DraftChoice
from mockserver.core.plan import Reasoning, Refusal, Text, ToolUse, Verdict
from mockserver.rules.templates import CompileContext, Templates, compile_json_text
from tests.kit.calls import call
from tests.kit.rules import context, draft, find_then_mistakes, list_said, parts, scope


def use(name, arguments, identity="", kind="function", **fields):
    return ToolUse(ToolCall(identity, name, arguments, kind), **fields)


MADE = {
    "{text: hi, reasoning: hm, chunks: [h, i]}": (Reasoning("hm"), Text("hi", ("h", "i"))),
    "{text: hi, chunks: {size: 1}}": (Text("hi", 1),),
    "{text: hi}": (Text("hi"),),
    "{json: {a: 1}}": (Text('{"a":1}', is_json=True),),
    "{json: null}": (Text("null", is_json=True),),
    "{refusal: never}": (Refusal("never"),),
    "{text: '{{ last_user }}!'}": (Text("hello!"),),
    "{reasoning: hm, text: hi, tool_calls: [{name: f}]}": (Reasoning("hm"), Text("hi"), use("f", "{}")),
    "{reasoning: '{{ last_user }}', tool_calls: [{name: f}, {name: f}]}": (
        Reasoning("hello"),
        use("f", "{}"),
        use("f", "{}"),
    ),
    "{refusal: 'never {{ last_user }}'}": (Refusal("never hello"),),
    "{tool_calls: [{name: f, arguments: {a: '{{ last_user }}'}, id: c}]}": (
        use("f", '{"a":"hello"}', "c", is_json=True),
    ),
    "{tool_calls: [{name: f, arguments: '{\"a\": {{ call.turn }}'}]}": (use("f", '{"a": 0'),),
    "{tool_calls: [{name: f, arguments: auto}, {name: g, input: 'free {{ last_user }}'}]}": (
        use("f", "{}"),
        use("g", "free hello", kind="custom"),
    ),
    "{text: 'hi {{ last_user }}!', citations: [{url: b, text: '{{ last_user }}'}, {url: c, title: d}]}": (
        Text(
            "hi hello!",
            annotations=(
                {"type": "url_citation", "start_index": 3, "end_index": 8, "title": "b", "url": "b"},
                {"type": "url_citation", "start_index": 0, "end_index": 9, "title": "d", "url": "c"},
            ),
        ),
    ),
    "{text: hi, annotations: [{type: x, url: '{{ last_user }}'}]}": (
        Text("hi", annotations=({"type": "x", "url": "hello"},)),
    ),
    "{parts: [{reasoning: hm}, {text: a}, {tool_call: {name: f}}, {text: b}, {refusal: c}], annotations: [{n: 1}]}": (
        Reasoning("hm"),
        Text("a", annotations=({"n": 1},)),
        use("f", "{}"),
        Text("b"),
        Refusal("c"),
    ),
    "{text: hi, chunks: [h, i]}": (Text("hi", ("h", "i")),),
    "{tool_calls: [{name: f, arguments: {}}], chunks: ['{', '}']}": (use("f", "{}", chunks=("{", "}"), is_json=True),),
    "{parts: [{text: ab, chunks: [a, b]}, {text: c}], chunks: char}": (Text("ab", ("a", "b")), Text("c", "char")),
}  # fmt: skip


@pytest.mark.parametrize(("then", "made"), MADE.items())
def test_the_parts_of_an_answer(then, made):
    assert parts(then) == made


ENDED = {
    "{text: a, finish: length}": DraftChoice((Text("a"),), finish="length"),
    "{text: a, logprobs: [-0.5, 0]}": DraftChoice((Text("a"),), logprobs=(-0.5, 0.0)),
    "{text: a, content_filter: {on: completion, after_tokens: 3}}": DraftChoice(
        (Text("a"),),
        safety=(Verdict("violence", "high", filtered=True),),
        filter_after=3,
    ),
    "{text: a, finish: stop, content_filter: {on: completion, category: protected_material_code}}": DraftChoice(
        (Text("a"),),
        finish="stop",
        safety=(Verdict("protected_material_code", filtered=True, detected=True),),
        filter_after=AFTER_LAST_TOKEN,
    ),
    "{text: '{{ last_user }}', annotate: {completion: {hate: low}}}": DraftChoice(
        (Text("hello"),), safety=(Verdict("hate", "low"),)
    ),
}


@pytest.mark.parametrize(("then", "choice"), ENDED.items())
def test_how_a_choice_ends(then, choice):
    assert draft(then).choices == (choice,)


AUTO = "{tool_calls: [{name: f, arguments: auto, id: c}, {name: f}]}"


def test_arguments_that_fit_the_tool():
    schema = {"type": "object", "properties": {"n": {"const": 3}}, "required": ["n"]}
    made = scope(replace(call("hi"), tools=(Tool("f", parameters=schema),)))
    assert parts(AUTO, made) == (use("f", '{"n":3}', "c"), use("f", '{"n":3}'))


BAD = {
    "{parts: [{text: a, refusal: b}]}": "9: a part needs exactly one of reasoning, text, refusal, tool_call and item",
    "{parts: [{text: ab, chunks: [a]}]}": (
        '28: these pieces do not add up to the text: after 1 character they have nothing more, the text has "b"'
    ),
    "{tool_calls: [{name: '{{ match.x }}'}]}": "21: templates are not supported here: this is sent unchanged",
    "{tool_calls: [{name: a, input: {b: 1}}]}": '31: "input" expects a string, not {"b": 1}; write "arguments"',
    "{tool_calls: [{name: a, input: x, arguments: {}}]}": ('24: use "input" or "arguments", not both'),
    "{text: abc, chunks: [a, bd]}": (
        '20: these pieces do not add up to the text: after 2 characters they have "d", the text has "c"'
    ),
    "{text: '{{ last_user }}', chunks: [a, b]}": (
        "34: exact pieces need fixed text, without templates; give a template as the whole text, with chunks: word"
    ),
    "{text: a, tool_calls: [{name: b, arguments: {}}], chunks: [a]}": (
        "58: exact pieces apply to one text, but there are several; give each its own chunks under parts"
    ),
}


@pytest.mark.parametrize(("then", "mistake"), BAD.items())
def test_contents_that_cannot_be(then, mistake):
    assert find_then_mistakes(then) == [mistake]


def test_further_calls_of_one_tool_take_what_else_is_listed():
    schema = {"properties": {"city": {"type": "string"}}, "required": ["city"]}
    asked = scope(replace(call("weather in Oslo and Rome"), tools=(Tool("f", parameters=schema), Tool("g"))))
    made = parts("{tool_calls: [{name: f}, {name: g}, {name: f}, {name: f, id: c}]}", asked)
    assert [part.call.arguments for part in made] == ['{"city":"Oslo"}', "{}", '{"city":"Rome"}', '{"city":"Oslo"}']
    assert made[3].call.id == "c"


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ({"b": 1, "a": [True, None, 1.5, "é"]}, '{"b":1,"a":[true,null,1.5,"é"]}'),
        (None, "null"),
        ((1, 2), "[1,2]"),
        (10**30, str(10**30)),
    ],
)
def test_what_holds_no_template_is_known(value, made):
    here = context(value)
    assert compile_json_text(value, here).known == (made,)
    assert list_said(here) == []


TEXT = "rules:\n  - then:\n      text: |\n        one\n        two\n      model: x\n"


def at(*path):
    return CompileContext(Mistakes(read(TEXT, "r.yaml")), Templates(), "a rule", ("rules", 0)).at(*path)


def test_the_path_inside_then():
    assert at("then", "one_of", 0, "then", "steps", 2).inside == "one_of[0].steps[2]"
    assert at("then").inside == ""


def test_complaints_stand_where_they_belong():
    there = at("then", "model")
    there.refuse("value")
    there.refuse_key("key")
    at("then", "text")
    places = [(m.message, m.place.line, m.place.column) for m in there.mistakes.found]
    assert places == [("value", 6, 14), ("key", 6, 7)]
