from time import process_time

import pytest

from mockserver.config.errors import RuleError
from mockserver.config.source import Document, read
from mockserver.rules.load import State, load
from tests.kit.rules import KNOWN, load_rule_text, scope

FILE = """\
version: 1
settings: {seed: 7}
rules:
  - name: weather
    when: {last_user: {regex: 'weather in (?P<city>[a-z]+)', ignore_case: true}}
    then: {text: "Fine in {{ match.city }}."}
    times: 2
    state: {is: asked, becomes: told}
  - then: {text: Hello}
"""


def test_a_rule_knows_its_name_and_place():
    weather, rest = load_rule_text(FILE, "rules.yaml")
    assert (weather.name, weather.where, weather.source) == ("weather", "rules.yaml:4", "rule rules.yaml:4 weather")
    assert (rest.name, rest.where, rest.source) == ("rule 2", "rules.yaml:9", "rule rules.yaml:9")
    assert str(weather.place) == "rules.yaml:4:5"
    assert weather.spec["when"] == {"last_user": {"regex": "weather in (?P<city>[a-z]+)", "ignore_case": True}}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("{is: a, becomes: b}", State("a", "b")),
        ("{becomes: b}", State("start", "b")),
        ("{is: a}", State("a", "a")),
        ("{}", State("start", "start")),
    ],
)
def test_scenarios_begin_as_start_and_may_stay(state, expected):
    (rule,) = load_rule_text(f"rules: [{{state: {state}, then: {{text: a}}}}]")
    assert rule.state == expected


def test_names_are_taken_once_across_files():
    text = "rules:\n  - {name: a, then: {text: a}}\n"
    with pytest.raises(RuleError) as caught:
        load([read(text, "a.yaml"), read(text, "b.yaml")], KNOWN)
    assert str(caught.value) == (
        'b.yaml:2:12: the name "a" is already used at a.yaml:2  [- {name: a, then: {text: a}}]'
    )


def test_the_mistakes_of_all_files_come_at_once():
    documents = [
        read("version: 9\nrules:\n  - when: {last_user: {contain: x}}\n    then: {txt: a}\n", "a.yaml"),
        read("rules:\n  - then: {text: '{{ lastuser }}'}\n  - when: {dialect: plane}\n    then: {text: a}\n", "b.yaml"),
    ]
    with pytest.raises(RuleError) as caught:
        load(documents, KNOWN)
    assert [str(mistake) for mistake in caught.value.mistakes] == [
        'a.yaml:1:10: "version" expects 1, not 9  [version: 9]',
        'a.yaml:3:24: unknown predicate "contain"; did you mean "contains"?  [- when: {last_user: {contain: x}}]',
        'a.yaml:4:12: unknown key "txt"; did you mean "text"?  [then: {txt: a}]',
        'b.yaml:2:18: unknown variable "lastuser"; did you mean "last_user"?  [- then: {text: \'{{ lastuser }}\'}]',
        'b.yaml:3:21: unknown dialect "plane"; did you mean "plain"?  [- when: {dialect: plane}]',
    ]


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("{regex: '(?P<city>x'}", "1:29: invalid regular expression: missing ) at position 10"),
        ("{regexp: '(?P<city>x)'}", '1:29: unknown predicate "regexp"; did you mean "regex"?'),
    ],
)
def test_a_mistake_in_a_condition_causes_no_second_one_in_the_templates(when, expected):
    rule = f"{{when: {{last_user: {when}}}, then: {{text: '{{{{ match.city }}}}'}}}}"
    with pytest.raises(RuleError) as caught:
        load_rule_text(f"rules: [{rule}]", "a.yaml")
    assert [str(mistake).partition("  [")[0] for mistake in caught.value.mistakes] == [f"a.yaml:{expected}"]


def test_the_name_of_a_rule_with_a_mistake_is_taken():
    with pytest.raises(RuleError) as caught:
        load_rule_text("rules:\n  - {name: a, tims: 2, then: {text: a}}\n  - {name: a, then: {text: b}}\n", "a.yaml")
    assert [str(mistake).partition("  [")[0] for mistake in caught.value.mistakes] == [
        'a.yaml:2:15: unknown key "tims"; did you mean "times"?',
        'a.yaml:3:12: the name "a" is already used at a.yaml:2',
    ]


def test_a_mistake_shows_its_line():
    with pytest.raises(RuleError) as caught:
        load_rule_text("rules:\n  - then: {txt: a}\n", "rules.yaml")
    assert caught.value.mistakes[0].render() == (
        'rules.yaml:2:12: unknown key "txt"; did you mean "text"?\n    2 |   - then: {txt: a}\n      |            ^'
    )


def test_a_setting_beside_the_rules_belongs_under_settings():
    with pytest.raises(RuleError) as caught:
        load_rule_text("scrub: [{regex: a}]\nrules: []\n", "rules.yaml")
    assert str(caught.value) == 'rules.yaml:1:1: unknown key "scrub"; write it under "settings"  [scrub: [{regex: a}]]'


@pytest.mark.parametrize("text", ["", "rules:", "rules: []", "version: 1", "settings: {seed: 7}"])
def test_files_without_rules(text):
    assert load_rule_text(text) == ()


def test_rules_that_never_stood_in_a_file():
    (rule,) = load([Document.from_data({"rules": [{"name": "a", "then": {"text": "b"}}]}, "<test>")], KNOWN)
    assert (rule.where, rule.source, rule.place) == ("<test>", "rule <test> a", None)
    with pytest.raises(RuleError, match=r'^the name "a" is already used by rule 1$'):
        load([Document.from_data({"rules": [{"name": "a", "then": {"text": "b"}}] * 2}, "<test>")], KNOWN)


def test_groups_in_any_regular_expression_are_known():
    when = "{any: [{model: {regex: '(?<kind>x)'}}, {body: {'a': {regex: '(?P<city>y)'}}}]}"
    assert load_rule_text(f"rules: [{{when: {when}, then: {{text: '{{{{ match.kind }}}}{{{{ match.city }}}}'}}}}]")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rules:\n" + "  - then: {txt: a}\n" * 5_000, 100),
        ("rules: [{then: {" + ", ".join(f"k{number}: 1" for number in range(20_000)) + "}}]", 101),
    ],
)
def test_thousands_of_mistakes_are_cut_short(text, told):
    started = process_time()
    with pytest.raises(RuleError) as caught:
        load_rule_text(text)
    assert len(caught.value.mistakes) == told
    assert process_time() - started < 5


def test_values_nested_without_end_are_refused():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RuleError, match="this rule is nested too deeply"):
        load([Document.from_data({"rules": [{"then": {"json": deep}}]}, "<test>")], KNOWN)


def test_what_a_rule_keeps_does_not_hold_its_file():
    import gc
    import weakref

    class Text(str):
        __slots__ = ("__weakref__",)

    line = Text("x" * 1000)
    document = Document({"rules": [{"then": {"text": "{{ last_user }}"}}]}, "r.yaml", (line,))
    kept = weakref.ref(line)
    rules = load([document], KNOWN)
    del document, line
    gc.collect()
    assert rules[0].then.respond(scope()).outcome
    assert kept() is None
