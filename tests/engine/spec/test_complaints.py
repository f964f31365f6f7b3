import pytest
from pydantic import ValidationError

from mockserver.rules.schema import RuleSpec
from mockserver.rules.validation_errors import complaints
from tests.kit.rules import mistakes, then_mistakes

IN_FILES = {
    "- a": '1:1: a rules file is a table; put this list under "rules:"',
    "3": "1:1: a rules file expects a table, not 3; write {version: 1, rules: [...]}",
    "rule: []": '1:1: unknown key "rule"; did you mean "rules"?',
    "version: 2": '1:10: "version" expects 1, not 2',
    "version: '1'": '1:10: "version" expects 1, not "1"; write it without quotes',
    "rules: {}": '1:8: "rules" expects a list, not {}',
    "settings: 3": '1:11: "settings" expects a table, not 3',
    "rules: [3]": "1:9: a rule expects a table, not 3; write {when: {model: gpt-4o*}, then: {text: Hello}}",
    "rules: [{}]": '1:9: a rule needs "then"; write {when: {model: gpt-4o*}, then: {text: Hello}}',
    "rules: [{then: {text: a}, wen: {}}]": '1:27: unknown key "wen"; did you mean "when"?',
    "rules: [{thn: {text: a}}]": '1:10: unknown key "thn"; did you mean "then"?',
    "rules: [{then: {text: a}, faults: [cut]}]": '1:27: unknown key "faults"; write it into "then"',
    "rules: [{then: }]": '1:10: "then" has no value; give it one, or leave the key out',
    "rules: [{when: , then: {text: a}}]": '1:10: "when" has no value; give it one, or leave the key out',
    "rules: [{name: '', then: {text: x}}]": '1:16: "name" expects a text that is not empty, not ""',
    "rules: [{name: 3, then: {text: x}}]": '1:16: "name" expects a text, not 3; put it in quotes',
    "rules: [{times: 0, then: {text: x}}]": '1:17: "times" expects at least 1, not 0',
    "rules: [{times: 1.5, then: {text: x}}]": '1:17: "times" expects a whole number, not 1.5',
    "rules: [{times: '2', then: {text: x}}]": '1:17: "times" expects a whole number, not "2"',
    "rules: [{times: true, then: {text: x}}]": '1:17: "times" expects a whole number, not true',
    "rules: [{state: asked, then: {text: x}}]": (
        '1:17: "state" expects a table, not "asked"; write {is: start, becomes: asked}'
    ),
    "rules: [{state: {iz: a}, then: {text: x}}]": '1:18: unknown key "iz"; "state" takes is, becomes',
    f"rules: [{{name: {'x' * 121}, then: {{text: x}}}}]": (
        f'1:16: "name" expects at most 120 characters, not "{"x" * 79}…"'
    ),
}

IN_THEN = {
    "hello": '0: "then" expects a table, not "hello"; write {text: Hello}',
    "{text: 42}": '7: "text" expects a text, not 42; put it in quotes',
    "{text: }": '1: "text" has no value; give it one, or leave the key out',
    "{text: [a]}": '7: "text" expects a text, not ["a"]',
    "{txt: a}": '1: unknown key "txt"; did you mean "text"?',
    "{content: a}": '1: unknown key "content"; write text: Hello',
    "{status: incomplete}": (
        '1: unknown key "status"; write error: {status: 500}, or finish: length for an answer that is incomplete'
    ),
    "{web_search_call: {query: a}}": ('1: unknown key "web_search_call"; write items: [{type: web_search_call, ...}]'),
    "{steps: [{computer_call: {}}]}": '10: unknown key "computer_call"; write items: [{type: computer_call, ...}]',
    "{error: []}": ('8: "error" expects a status such as 429, a short name such as rate_limit, or a table, not []'),
    "{error: {status: 99}}": '17: "status" expects at least 400, not 99',
    "{error: {status: 600}}": '17: "status" expects at most 599, not 600',
    "{error: 429, retry_after: soon}": ('26: "retry_after" expects a duration such as 300ms, 2s or 1m, not "soon"'),
    "{text: a, finish: Stop}": (
        '18: "finish" expects stop, length, tool_calls, content_filter or function_call, not "Stop"; '
        'did you mean "stop"?'
    ),
    "{text: a, finish: zzz}": (
        '18: "finish" expects stop, length, tool_calls, content_filter or function_call, not "zzz"'
    ),
    "{text: a, chunks: words}": '18: "chunks" expects token, word or char, not "words"; did you mean "word"?',
    "{text: a, chunks: 3}": '18: "chunks" expects token, word, char, {size: 7} or a list of pieces, not 3',
    "{text: a, chunks: {size: 0}}": '25: "size" expects at least 1, not 0',
    "{text: a, headers: {a: [b]}}": '23: "a" expects a text or a whole number, not ["b"]',
    "{text: a, logprobs: [0.5]}": '21: an item of "logprobs" expects at most 0, not 0.5',
    "{text: a, logprobs: [-1, x]}": '25: an item of "logprobs" expects a number, not "x"',
    "{text: a, logprobs: [-.inf]}": '21: an item of "logprobs" expects a number, not -Infinity',
    "{text: a, usage: {prompt: 3}}": '18: unknown key "prompt"; did you mean "prompt_tokens"?',
    "{text: a, usage: {prompt_tokens: -3}}": '33: "prompt_tokens" expects at least 0, not -3',
    "{text: a, timing: {jitter: 2}}": (
        '27: "jitter" expects a share such as 20% or 0.2, {normal: 20%} or {lognormal: 30%}, not 2'
    ),
    "{text: a, timing: {tokens_per_second: 0}}": '38: "tokens_per_second" expects more than 0, not 0',
    "{tool_calls: []}": '13: "tool_calls" expects at least one item, not []',
    "{tool_calls: {name: a}}": '13: "tool_calls" expects a list, not {"name": "a"}',
    "{tool_calls: [look]}": (
        '14: an item of "tool_calls" expects a table, not "look"; write {name: get_weather, arguments: {city: Paris}}'
    ),
    "{tool_calls: [{arguments: {}}]}": (
        '14: an item of "tool_calls" needs "name"; write {name: get_weather, arguments: {city: Paris}}'
    ),
    "{tool_calls: [{name: a, arguments: 3}]}": ('35: "arguments" expects a table, a JSON text, or auto, not 3'),
    "{tool_calls: [{name: a, args: {}}]}": '24: unknown key "args"; did you mean "arguments"?',
    "{content_filter: {}}": '17: "content_filter" needs "on"; write {on: completion, category: violence}',
    "{content_filter: {on: prompt, category: violense}}": (
        '40: "category" expects hate, self_harm, sexual, violence, jailbreak, protected_material_text or '
        'protected_material_code, not "violense"; did you mean "violence"?'
    ),
    "{generate: {kind: prose, token: 3}}": '25: unknown key "token"; did you mean "tokens"?',
    "{generate: {tokens: 3}}": '11: "generate" needs "kind"; write {kind: prose, tokens: 80}',
    "{echo: false}": '7: "echo" expects true, not false',
    "{steps: [{txt: a}]}": '10: unknown key "txt"; did you mean "text"?',
    "{one_of: [{weight: 1}]}": '10: an item of "one_of" needs "then"; write {weight: 2, then: {text: Hello}}',
    "{one_of: [{text: a}]}": '11: unknown key "text"; an item of "one_of" takes weight, then',
}


@pytest.mark.parametrize(("text", "mistake"), IN_FILES.items())
def test_the_shape_of_a_file(text, mistake):
    assert mistakes(text) == [mistake]


@pytest.mark.parametrize(("then", "mistake"), IN_THEN.items())
def test_the_shape_of_then(then, mistake):
    assert then_mistakes(then) == [mistake]


def test_a_far_key_lists_what_could_stand_there():
    (mistake,) = then_mistakes("{zzz: a}")
    assert mistake.startswith('1: unknown key "zzz"; "then" takes text, json, refusal, tool_calls, items, parts, ')


def test_one_rule_hides_nothing_of_another():
    text = "version: 3\nrules:\n  - {then: {txt: a, finish: x}, whn: {}}\n  - {then: {text: 1}}\n"
    assert [mistake.split(" ", 1)[0] for mistake in mistakes(text)] == ["1:10:", "3:13:", "3:29:", "3:33:", "4:19:"]


def test_keys_that_are_no_texts():
    with pytest.raises(ValidationError) as caught:
        RuleSpec.model_validate({"then": {"text": "a", "headers": {3: "x"}}, 4: 5})
    found = [(c.message, c.path, c.key) for c in complaints(caught.value, RuleSpec, "a rule")]
    assert found == [
        ("a key must be a text, not 3", ("then", "headers"), False),
        ("a key must be a text, not 4", (), False),
    ]


def test_names_are_cut():
    (mistake,) = then_mistakes("{" + "x" * 70 + ": a}")
    assert f'unknown key "{"x" * 60}…";' in mistake
