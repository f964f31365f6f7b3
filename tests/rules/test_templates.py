from datetime import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mockserver.config.errors import RuleError
from mockserver.config.source import read
from mockserver.core.call import Message, ToolCall, ToolChoice
from mockserver.core.plan import Failure
from mockserver.rules.load import load
from mockserver.rules.templates import Fake, JsonObject, plain, providers
from tests.kit.calls import call, tool_result
from tests.kit.rules import rendered, scope

DEEP = {"a": [1, {"b": "c"}], "items": 2, "none": None}


def test_a_table_is_seen_but_never_changed():
    table = plain(DEEP)
    assert isinstance(table, JsonObject)
    assert dict(table) == {"a": (1, {"b": "c"}), "items": 2, "none": None}
    assert len(table) == 3
    with pytest.raises(TypeError):
        table["a"] = 1
    with pytest.raises(AttributeError):
        table["a"].append(1)
    assert str(table) == '{"a":[1,{"b":"c"}],"items":2,"none":null}'


FULL = call(
    Message("system", "Be kind."),
    Message("developer", "Be brief."),
    "weather?",
    Message("assistant", tool_calls=(ToolCall("1", "sky", '{"at":1}'),)),
    Message("tool", '{"sky": "grey"}', tool_call_id="1"),
    tools=(),
    raw={"model": "gpt-4o", "items": [1, 2]},
    n=2,
    tool_choice=ToolChoice("auto"),
)

SEEN = {
    "{{ match.city }}": "Rome",
    "{{ call.model }} {{ call.dialect }} {{ call.operation }}": "gpt-4o openai chat",
    "{{ call.turn }} {{ call.attempt }} {{ call.stream }} {{ call.n }}": "1 1 false 2",
    "{{ last_user }}|{{ last_message }}": 'weather?|{"sky": "grey"}',
    "{{ system }}": "Be kind.\nBe brief.",
    "{% for m in messages if m.tool_calls %}{{ m.tool_calls[0].arguments }}{% endfor %}": '{"at":1}',
    "{{ tool_result.name }} {{ tool_result.json.sky }} {{ tool_result.json }}": 'sky grey {"sky":"grey"}',
    "{{ tool_results|length }}": "1",
    "{{ body.items[1] }} {{ body['model'] }}": "2 gpt-4o",
    "{{ body }}": '{"model":"gpt-4o","items":[1,2]}',
    "{{ body|tojson }}": '{"model": "gpt-4o", "items": [1, 2]}',
    "{{ tools }}": "[]",
}


@pytest.mark.parametrize(("template", "text"), SEEN.items())
def test_what_a_template_sees(template, text):
    assert rendered(template, scope(FULL, {"city": "Rome"}), "city") == text


PLACE = scope(call("hello", meaning={"a": 1}))


def fake(at=PLACE, *labels):
    return Fake(at, labels or ("a rule", "then/text"))


@pytest.mark.parametrize("name", sorted(providers()))
def test_every_value_is_plain_and_the_same_every_time(name):
    value = fake()[name]
    assert fake()[name] == value
    assert isinstance(value, str | int | float | tuple | None)


def test_each_value_has_its_own_stream():
    values = fake()
    first = values["name"], values["city"], values["name"]
    assert len(set(first)) == 3
    again = fake()
    assert (again["city"], again["name"]) == (first[1], first[0])


def test_the_call_the_rule_the_place_and_the_seed_decide():
    names = {
        fake()["name"],
        fake(PLACE, "another rule", "then/text")["name"],
        fake(PLACE, "a rule", "then/json/0")["name"],
        fake(scope(call("hello", meaning={"a": 2})))["name"],
        fake(scope(call("hello", meaning={"a": 1}), seed=1))["name"],
    }
    assert len(names) == 5


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("date_this_year", "2023-01-01", "2023-11-14"),
        ("date_of_birth", "1900-01-01", "2023-11-14"),
        ("date_time", "1970-01-01", "2023-11-15"),
        ("future_datetime", "2023-11-14", "2023-12-15"),
        ("iso8601", "1970-01-01", "2023-11-15"),
    ],
)
def test_dates_know_no_today(name, low, high):
    for number in range(20):
        value = fake(PLACE, str(number))[name]
        assert low <= value <= high
        datetime.fromisoformat(value)


@pytest.mark.parametrize(
    "name",
    ["seed", "seed_instance", "random", "add_provider", "binary", "tar", "json", "pyobject", "_factories", "generator",
     "get_words_list", "random_element", "profile", "uuid1", "format", "parse"],
)  # fmt: skip
def test_nothing_but_values_can_be_reached(name):
    with pytest.raises(KeyError):
        fake()[name]


def test_faker_itself_is_left_alone():
    fake()["date_this_year"]
    from faker import Faker
    from faker.providers import date_time

    assert date_time.datetime is datetime
    assert Faker().date_time_this_year().year == datetime.now().year


RENDERED = {
    "plain text": "plain text",
    "{{ last_user }}": "hello",
    "{{ last_user|upper }}!": "HELLO!",
    "{% for i in range(3) %}{{ i }}{% endfor %}": "012",
    "{% raw %}{{ 7*7 }}{% endraw %}": "{{ 7*7 }}",
    "{{ '<b>' }}": "<b>",
    "{% if tool_result is defined %}yes{% else %}no{% endif %}": "no",
    "{{ 1.5 }} {{ true }} {{ none }}": "1.5 true null",
    "{{ last_user.upper() }}": "HELLO",
    '{{ last_user|replace("h", "|j") }}': "|jello",
}


@pytest.mark.parametrize(("template", "text"), RENDERED.items())
def test_what_templates_come_to(template, text):
    assert rendered(template) == text


BROKEN = {
    "{{ match.ciity }}": 'no regular expression of "when" has a group "ciity"; did you mean "city"?',
    "{{ last_user is not defind }}": 'there is no test "defind" in templates',
    "{{ last_user": "this template cannot be read: unexpected end of input, expected end of variable block",
    "{{ lastuser }}": 'there is no "lastuser" in templates; did you mean "last_user"?',
    "{{ now() }}": (
        'there is no "now" in templates; it is one of match, call, last_user, last_message, system, messages, '
        "tool_result, tool_results, tools, body, fake"
    ),
    "{{ call.modle }}": '"call" has no "modle"; did you mean "model"?',
    "{{ fake.nmae }}": 'there is no "fake.nmae"; did you mean "name"?',
    "{{ fake.name() }}": '"fake.name" is a value, not a function; leave out the parentheses',
    "{{ last_user|uper }}": 'there is no filter "uper" in templates',
    "{{ [1, 2]|batch(1000000000, 0) }}": 'there is no filter "batch" in templates',
    "{{ [1, 2]|slice(1000000000) }}": 'there is no filter "slice" in templates',
    "{{ last_user.replace('a', last_user) }}": 'there is no method "replace" in templates; use the filter replace',
    "{{ '{:>1000000000}'.format(1) }}": 'there is no method "format" in templates; join texts with ~',
    "{% include last_user %}": '"include" has nothing to load: every template stands alone',
    "{{ '\ud800' }}": "this template holds half of a character (a lone surrogate)",
}


@pytest.mark.parametrize(("template", "message"), BROKEN.items())
def test_what_is_wrong_is_found_when_the_rules_are_loaded(template, message):
    with pytest.raises(RuleError) as caught:
        rendered(template, None, "city")
    (mistake,) = caught.value.mistakes
    assert mistake.message.startswith(message)


FAILS = {
    "{{ body.get }}": "this is no value; a method wants its parentheses",
    "{{ body.clear() }}": "'JsonObject' object has no attribute 'clear'",
    "{{ body|tojson(1000000000) }}": "tojson takes an indent of 0 to 16",
    "{{ body.a.b }}": "`body.a` is undefined",
    "{{ last_user|int }}": "invalid float literal",
    "{% for i in range(999) %}{% for j in range(999) %}x{% endfor %}{% endfor %}": "it takes more than 100,000 steps",
    "{{ 'x' * 2000000 }}": "it makes a text of more than 1,000,000 characters",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}": "recursion limit exceeded",
}


@pytest.mark.parametrize(("template", "why"), FAILS.items())
def test_a_template_that_fails_is_a_500_that_says_why(template, why, capfd):
    with pytest.raises(Failure) as caught:
        rendered(template)
    assert caught.value.reason == "server_error"
    assert caught.value.status == 500
    assert caught.value.message.startswith(f"r.yaml a rule: the template of this rule failed: {why}")


def test_a_template_that_fails_tells_little_of_the_request():
    secret = scope(call("secret " * 1000, raw={"secret": "x" * 1000}))
    with pytest.raises(Failure) as caught:
        rendered("{{ (last_user ~ body)|int }}", secret)
    assert "secret" not in caught.value.message
    assert len(caught.value.message) < 300


def test_the_request_is_never_changed():
    raw = {"a": {"b": [1]}}
    made = scope(call("hi", raw=raw))
    for template in (
        "{{ body.clear() }}",
        "{{ body.a.b.append(1) }}",
        "{{ body.a.pop('b') }}",
        "{{ body.update({}) }}",
    ):
        with pytest.raises(Failure):
            rendered(template, made)
    assert raw == {"a": {"b": [1]}}


HOSTILE = st.text() | st.sampled_from(
    [
        "{{ 7*7 }}",
        "{% for x in range(9) %}",
        "{# gone #}",
        "{{ body.__class__ }}",
        "}}{{ fake.name }}",
        "{%",
        "\\u007b{",
    ]
)


@given(HOSTILE, HOSTILE, HOSTILE)
@example("{{ 7*7 }}", "{% if 1 %}x{% endif %}", '{"a": "{{ 7*7 }}"}')
def test_what_a_client_sends_is_only_ever_a_value(asked, ordered, result):
    made = call(Message("system", ordered), *tool_result(result)[:0], asked, *tool_result(result)[1:], raw={"x": asked})
    at = scope(made, {"group": asked})
    assert rendered("{{ last_user }}", at) == asked
    assert rendered("{{ system }}", at) == ordered
    assert rendered("{{ tool_result.text }}|{{ match.group }}|{{ body.x }}", at, "group") == f"{result}|{asked}|{asked}"
    assert rendered("{% for m in messages %}{{ m.text }}{% endfor %}", at) == ordered + asked + result


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% raw %}{{ a|b }} {% include 'c' %}{% endraw %}", "{{ a|b }} {% include 'c' %}"),
        ("{# {{ a|b }} #}x", "x"),
        ("{{ 'this is nothing' }}", "this is nothing"),
    ],
)
def test_names_in_comments_and_raw_text_are_nobodys(template, text):
    assert rendered(template) == text


@pytest.mark.parametrize(("slip", "column"), [("{{ call.modl }}", 9), ("  {{ 1|uper }}", 11), ("{{ last is odd }}", 9)])
def test_a_slip_is_found_in_its_line(slip, column):
    document = read(f"rules:\n  - then:\n      text: |\n        one\n        {slip}\n        three\n", "r.yaml")
    with pytest.raises(RuleError) as caught:
        load((document,), {})
    (mistake,) = caught.value.mistakes
    assert (mistake.place.line, mistake.place.column) == (5, column)
