import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mockserver.config.errors import RuleError
from mockserver.config.source import read
from mockserver.core.call import Message
from mockserver.core.plan import Failure
from mockserver.rules.load import load
from mockserver.rules.templates import MAX_OUTPUT, is_template
from tests.kit.calls import call, told
from tests.kit.rules import mistakes, rendered, respond, scope

RENDERED = {
    "plain text": "plain text",
    "{ x } and }} and %}": "{ x } and }} and %}",
    "{{ last_user }}": "hello",
    "{{ last_user }}\n": "hello\n",
    "{{ last_user|upper }}!": "HELLO!",
    "{# nothing #}": "",
    "{% for i in range(3) %}{{ i }}{% endfor %}": "012",
    "{% set x = last_user %}{{ x }}": "hello",
    "{{ '{{' }}": "{{",
    "{% raw %}{{ 7*7 }}{% endraw %}": "{{ 7*7 }}",
    "{{ '<b>' }}": "<b>",
    "{% if tool_result is defined %}yes{% else %}no{% endif %}": "no",
    "{{ body.nothing|default('none') }}": "none",
    "{{ 1.5 }} {{ true }} {{ none }}": "1.5 true null",
    "{{ last_user.upper() }}": "HELLO",
    '{{ last_user|replace("h", "|j") }}': "|jello",
}


@pytest.mark.parametrize(("template", "text"), RENDERED.items())
def test_what_templates_come_to(template, text):
    assert rendered(template) == text


@pytest.mark.parametrize(
    "template",
    [
        '{{ ("ab" * 1000)|replace("a", "x" * 999) }}',
        "{% for i in range(90000) %}{{ last_user * 9 }}{% endfor %}",
    ],
)
def test_a_text_that_grows_too_large_is_refused(template):
    with pytest.raises(Failure, match=r"characters|steps"):
        rendered(template)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a", False), ("{ {", False), ("{{", True), ("{%", True), ("{#", True), ("}}", False)],
)
def test_what_is_a_template(text, expected):
    assert is_template(text) is expected


BROKEN = {
    "{{ last_user is empty }}": 'there is no test "empty" in templates',
    "{{ last_user is not defind }}": 'there is no test "defind" in templates; did you mean "defined"?',
    "{{ last_user": "this template cannot be read: unexpected end of input, expected end of variable block",
    "{% if %}": "this template cannot be read: unexpected end of block",
    "{% for x in y %}": "this template cannot be read: unexpected end of input, expected end of block",
    "{{ lastuser }}": 'there is no "lastuser" in templates; did you mean "last_user"?',
    "{{ now() }}": (
        'there is no "now" in templates; it is one of match, call, last_user, last_message, system, messages, '
        "tool_result, tool_results, tools, body, fake"
    ),
    "{{ debug() }}": 'there is no "debug" in templates; it is one of match,',
    "{{ call.modle }}": '"call" has no "modle"; did you mean "model"?',
    "{{ tool_result.sky }}": '"tool_result" has no "sky"; it is one of name, text, json',
    "{{ match.town }}": 'no regular expression of "when" has a group "town"; it is one of city',
    "{{ match.ciity }}": 'no regular expression of "when" has a group "ciity"; did you mean "city"?',
    "{{ fake.nmae }}": 'there is no "fake.nmae"; did you mean "name"?',
    "{{ fake.seed }}": 'there is no "fake.seed"',
    "{{ fake.name() }}": '"fake.name" is a value, not a function; leave out the parentheses',
    "{{ last_user|uper }}": 'there is no filter "uper" in templates; did you mean "upper"?',
    "{{ '%9s'|format(last_user) }}": 'there is no filter "format" in templates; did you mean "float"?',
    "{% include last_user %}": '"include" has nothing to load: every template stands alone',
    "{%- import 't1' as t %}": '"import" has nothing to load: every template stands alone',
    "{{ '\ud800' }}": "this template holds half of a character (a lone surrogate)",
}


@pytest.mark.parametrize(("template", "message"), BROKEN.items())
def test_what_is_wrong_is_found_when_the_rules_are_loaded(template, message):
    with pytest.raises(RuleError) as caught:
        rendered(template, None, "city")
    (mistake,) = caught.value.mistakes
    assert mistake.message.startswith(message)


def test_a_rule_without_groups_has_no_match():
    with pytest.raises(RuleError) as caught:
        rendered("{{ match.city }}")
    assert str(caught.value) == (
        '"match.city" is nothing: no regular expression of "when" has a named group, such as (?P<city>...)'
    )


def test_a_mistake_stands_in_its_line_of_a_block():
    text = "rules:\n  - then:\n      text: |\n        one\n        two {{ x y }}\n"
    assert mistakes(text) == [
        "5:9: this template cannot be read: unexpected identifier, expected end of variable block"
    ]


FAILS = {
    "{{ body|tojson(1000000000) }}": "tojson takes an indent of 0 to 16",
    "{{ body|tojson(indent=-1) }}": "tojson takes an indent of 0 to 16",
    "{{ tool_result.text }}": "`tool_result` is undefined",
    "{{ body.a.b }}": "`body.a` is undefined",
    "{{ messages[7].text }}": "`messages[7]` is undefined",
    "{{ last_user + 1 }}": "tried to use + operator on unsupported types string and number",
    "{{ last_user|int }}": "invalid float literal",
    "{{ body.clear() }}": "'Table' object has no attribute 'clear'",
    "{{ body.get }}": "this is no value; a method wants its parentheses",
    "{{ messages.append(1) }}": "sequence has no method named append",
    "{% for i in range(999) %}{% for j in range(999) %}x{% endfor %}{% endfor %}": "it takes more than 100,000 steps",
    "{{ 3 is divisibleby(0) }}": "attempt to calculate the remainder with a divisor of zero",
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


def test_a_template_that_fails_names_file_and_line():
    with pytest.raises(Failure, match=r"^r\.yaml:1: the template of this rule failed: `body\.a` is undefined$"):
        respond("{text: '{{ body.a }}'}")


def test_a_template_that_fails_tells_little_of_the_request():
    secret = scope(call("secret " * 1000, raw={"secret": "x" * 1000}))
    with pytest.raises(Failure) as caught:
        rendered("{{ (last_user ~ body)|int }}", secret)
    assert "secret" not in caught.value.message
    assert len(caught.value.message) < 300


def test_a_stop_from_the_keyboard_passes():
    from mockserver.rules.templates import _rendered

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _rendered(interrupted, str)


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


def test_output_up_to_the_limit_is_kept():
    big = "x" * MAX_OUTPUT
    assert rendered("{{ last_user }}", scope(call(big))) == big


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
    made = call(Message("system", ordered), *told(result)[:0], asked, *told(result)[1:], raw={"x": asked})
    at = scope(made, {"group": asked})
    assert rendered("{{ last_user }}", at) == asked
    assert rendered("{{ system }}", at) == ordered
    assert rendered("{{ tool_result.text }}|{{ match.group }}|{{ body.x }}", at, "group") == f"{result}|{asked}|{asked}"
    assert rendered("{% for m in messages %}{{ m.text }}{% endfor %}", at) == ordered + asked + result


@given(st.text(alphabet="{}%#|.()[]'\" abcxlast_userfake0*\n", max_size=40))
def test_any_template_is_refused_or_renders_or_fails(source):
    try:
        rendered("{{" + source)
    except (RuleError, Failure) as error:
        told_of = str(error)
    else:
        return
    assert told_of


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% raw %}{{ a|b }} {% include 'c' %}{% endraw %}", "{{ a|b }} {% include 'c' %}"),
        ("{%- raw -%}{{ fake.name() }}{%- endraw -%}", "{{ fake.name() }}"),
        ("{# {{ a|b }} #}x", "x"),
        ("{{ 'this is nothing' }}", "this is nothing"),
        ("{{ 3 is divisibleby 3 }}", "true"),
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
