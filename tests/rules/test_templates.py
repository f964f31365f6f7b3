import json
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from minijinja import Environment, TemplateError

from mockserver.config.errors import RuleError
from mockserver.config.source import read
from mockserver.core.call import Message, ToolCall, ToolChoice
from mockserver.core.plan import Failure
from mockserver.dialects._forms import write_form
from mockserver.media.sound_files import hear
from mockserver.rules import templates
from mockserver.rules.load import load
from mockserver.rules.template_checks import FILTERS
from mockserver.rules.template_variables import CALL, KINDS, Fake, JsonObject, list_providers, make_plain
from tests.kit.calls import call, tool_result
from tests.kit.local import local
from tests.kit.rules import find_rule_mistakes, render_words, scope

DEEP = {"a": [1, {"b": "c"}], "items": 2, "none": None}


def test_a_table_is_seen_but_never_changed():
    table = make_plain(DEEP)
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
    assert render_words(template, scope(FULL, {"city": "Rome"}), "city") == text


PLAIN_TAGS = ["{{ last_user }}", "{{system}}", "{{  match.city }}", "{{ match.none}}", "{{ last_message }}"]
PLAIN_TAGS += ["{{ call }}", "{{ body.n }}", *(f"{{{{ call.{name} }}}}" for name in CALL)]
LITERALS = [*"a {}%é\n\0'\\", "\r\n", "}}", "%s", "%}", "#}", "{{ 1 }}", "{%- if 1 %}x{% endif %}"]
WORDS = ["", "Rome", "{{ system }}", "<&>'\"", "\ud800", "\n", "é", "x" * 400_000]


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PLAIN_TAGS + LITERALS), max_size=6).map("".join), st.sampled_from(WORDS))
def test_a_text_with_plain_names_is_joined_to_what_minijinja_renders(source, words):
    at = scope(call(Message("system", "Be kind."), words, n=2), {"city": words})
    try:
        wanted = outcome("{##}" + source, at)  # a comment, which is left to minijinja
    except RuleError:
        with pytest.raises(RuleError):
            outcome(source, at)
    else:
        assert outcome(source, at) == wanted


def outcome(source, at):
    try:
        return render_words(source, at, "city", "none")
    except Failure as failure:
        return failure.message


def test_plain_names_need_no_minijinja(monkeypatch):
    monkeypatch.setattr(templates, "_render", None)
    at = scope(FULL, {"city": "Rome"})
    assert render_words("{{match.city}}:\n{{ last_user }} {{ call.turn }}", at, "city") == "Rome:\nweather? 1"
    with pytest.raises(TypeError):
        render_words("{{ match.city|upper }}", at, "city")


def test_only_what_a_template_asks_of_the_call_is_worked_out():
    asked = call("hello", tokenizer=None)  # no tokens can be counted
    assert render_words("{{ call['model'] ~ '!' }}", scope(asked)) == "gpt-4o!"
    with pytest.raises(Failure):
        render_words("{{ call.prompt_tokens ~ '!' }}", scope(asked))


PLACE = scope(call("hello", meaning={"a": 1}))


def fake(at=PLACE, *labels):
    return Fake(at, labels or ("a rule", "then/text"))


@pytest.mark.parametrize("name", sorted(list_providers()))
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
    "{{ match.get('city', 'none') }}{{ match.items()|list }}{{ match.keys()|list }}": "none[][]",
}


@pytest.mark.parametrize(("template", "text"), RENDERED.items())
def test_what_templates_come_to(template, text):
    assert render_words(template) == text


BROKEN = {
    "{{ match.ciity }}": 'no regular expression in "when" has a group "ciity"; did you mean "city"?',
    "{{ match[1] }}": '"match[1]" is undefined: a group is read by its name; write match.city',
    "{{ match.0 }}": '"match.0" is undefined: a group is read by its name; write match.city',
    "{{ match.group(1) }}": '"match.group(...)" is undefined: a group is read by its name; write match.city',
    "{{ match.get() }}": 'the method "get" always fails: an argument is missing',
    "{{ match['ciity'] }}": 'no regular expression in "when" has a group "ciity"; did you mean "city"?',
    "{{ call['modle'] }}": '"call" has no "modle"; did you mean "model"?',
    "{{ last_user is not defind }}": 'unknown test "defind"',
    "{{ last_user": (
        "invalid template: unexpected end of input, expected end of variable block; to send the text as it is, put it "
        "between {% raw %} and {% endraw %}"
    ),
    "{{ lastuser }}": 'unknown variable "lastuser"; did you mean "last_user"?',
    "{{ now() }}": (
        'unknown variable "now"; choose one of match, call, last_user, last_message, system, messages, '
        "tool_result, tool_results, tools, arguments, client_answer, body, fake; to send the text as it is, put it "
        "between {% raw %} and {% endraw %}"
    ),
    "{{ call.modle }}": '"call" has no "modle"; did you mean "model"?',
    "{{ call.last_user }}": '"call" has no "last_user"; write {{ last_user }}',
    "{{ fake.nmae }}": 'unknown provider "fake.nmae"; did you mean "name"?',
    "{{ fake.name() }}": '"fake.name" is a value, not a function; remove the parentheses',
    "{{ last_user|uper }}": 'unknown filter "uper"; did you mean "upper"?',
    "{{ [1, 2]|batch(1000000000, 0) }}": 'unknown filter "batch"',
    "{{ [1, 2]|slice(1000000000) }}": 'unknown filter "slice"',
    "{{ last_user.replace('a', last_user) }}": 'the method "replace" is not supported; use the filter replace',
    "{{ '{:>1000000000}'.format(1) }}": 'the method "format" is not supported; join texts with ~',
    "{% include last_user %}": '"include" is not supported: a template cannot load other templates',
    "{{ '\ud800' }}": "this template contains half of a character (a lone surrogate)",
}


@pytest.mark.parametrize(("template", "message"), BROKEN.items())
def test_what_is_wrong_is_found_when_the_rules_are_loaded(template, message):
    with pytest.raises(RuleError) as caught:
        render_words(template, None, "city")
    (mistake,) = caught.value.mistakes
    assert mistake.message.startswith(message)


def test_a_group_without_a_name_is_found_where_it_is_read():
    found = find_rule_mistakes(
        """\
rules:
  - when: {last_user: {regex: 'order (\\d+)'}}
    then:
      text: |
        Order
        {{ match[1] }}
"""
    )
    assert found == [
        '6:9: "match[1]" is undefined: a group is read by its name; name it in the pattern, (?P<name>...), and write'
        " match.name"
    ]


# Calls that fail whatever a request brings, and what the engine says.
WRONG = {
    "{{ call.model | truncate(6) }}": 'filter "truncate": too many arguments; did you mean truncate(length=6)?',
    "{{ last_user|wordwrap(call.n) }}": 'filter "wordwrap": too many arguments; did you mean wordwrap(width=...)?',
    "{{ last_user|upper(1) }}": 'filter "upper": too many arguments',
    "{%- filter upper(last_user) -%}x{%- endfilter -%}": 'filter "upper": too many arguments',
    "{% set x = (last_user ~ '}}')|trim('a', 'b') %}": 'filter "trim": too many arguments',
    "{{ last_user|replace('a', 'b', 'c') }}": 'filter "replace": too many arguments',
    "{{ tools|join(1, 2, 3) }}": 'filter "join": value is not a string; it accepts at most 1 argument',
    "{{ tools|groupby }}": "filter \"groupby\": missing keyword argument 'attribute'",
    "{{ tools|map }}": 'filter "map": filter name is required',
    "{{ tools|sort(attribut='name') }}": "filter \"sort\": unknown keyword argument 'attribut'",
    "{{ body|tojson(ident=2) }}": "filter \"tojson\": unknown keyword argument 'ident'",
    "{{ body|tojson(indent='x') }}": 'filter "tojson": tojson accepts an indent of 0 to 16',
    "{{ call.turn|round('x') }}": 'filter "round": cannot convert string to i32',
    "{{ last_user|truncate(length='x') }}": 'filter "truncate": cannot convert string to usize',
    "{{ last_user|round(2) }}": 'filter "round": cannot round value (string)',
    "{{ match.city|abs }}": 'filter "abs": cannot get absolute value',
    "{{ 'x'|int }}": 'filter "int": invalid float literal',
    "{{ tools|map('uper') }}": 'filter "map": unknown filter',
    "{{ call.turn is divisibleby }}": 'test "divisibleby": an argument is missing',
    "{{ call.turn is not divisibleby(2, 3) }}": 'test "divisibleby": too many arguments',
    "{% if last_user is defined('a') %}x{% endif %}": 'test "defined": too many arguments',
    "{{ range() }}": 'function "range": an argument is missing',
    "{{ range(1, call.n, 3, 4) }}": 'function "range": too many arguments',
    "{{ range('x') }}": 'function "range": cannot convert string to isize',
    "{{ cycler() }}": 'function "cycler": at least one value required',
    "{{ last_user.split(1) }}": 'method "split": value is not a string',
    "{{ body.get() }}": 'method "get": an argument is missing',
    "{% macro m(a, b=[1, 2]) %}{% endmacro %}{{ m(1, 2, 3) }}": 'macro "m": too many arguments',
    "{% macro m(a) %}{% endmacro %}{{ m(b=last_user) }}": 'macro "m": unknown keyword argument `b`',
}


@pytest.mark.parametrize(("template", "message"), WRONG.items())
def test_calls_that_always_fail_are_found_when_the_rules_are_loaded(template, message):
    with pytest.raises(RuleError) as caught:
        render_words(template, None, "city")
    (mistake,) = caught.value.mistakes
    assert mistake.message.replace(" always fails", "") == f"the {message}"


def test_each_is_reported_at_its_line():
    text = "{# |lower(1) #}{{ 'a'|lower }}\n{% raw %}\n{{ x|lower(1) }}{% endraw %}\n{{ last_user|lower(1) }}\n"
    document = read(
        "rules:\n  - then:\n      text: |\n" + "".join(f"        {line}\n" for line in text.splitlines()), "r.yaml"
    )
    with pytest.raises(RuleError) as caught:
        load((document,), {})
    (mistake,) = caught.value.mistakes
    assert str(mistake).startswith('r.yaml:7:9: the filter "lower" always fails: too many arguments')


RIGHT = [
    "{{ call.model|truncate(length=6) }} {{ 'abc'|truncate(length=call.n + 3, end='') }}",
    "{{ last_user|replace('a', match.city) }} {{ body|tojson(2) }} {{ body|tojson(indent=call.n) }}",
    "{{ tools|map(attribute='name', default='x')|unique|sort(reverse=true)|join(', ') }} {{ [1]|map('upper')|list }}",
    "{{ tools|groupby('name')|list }} {{ messages|selectattr('role', 'eq', 'user')|list|length }}",
    "{{ last_user|int(default=0) }} {{ '7'|int }} {{ 1.25|round(1) }} {{ call.turn|float|round(1) }}",
    "{{ 3 is divisibleby 3 }} {{ call.turn is divisibleby(2) }} {{ last_user is eq system }}",
    "{% for i in range(call.n) if i is even %}{{ loop.cycle('a', 'b') }}{% endfor %} {{ dict(a=1).a }}",
    "{% set c = cycler(['a', 'b']) %}{{ c.next() }} {% set j = joiner(', ') %}{{ j() }}",
    "{% macro m(a, b=last_user) %}{{ a }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(b=1, a=2) }}",
    "{% macro range(a, b, c, d) %}{{ d }}{% endmacro %}{{ range(1, 2, 3, 4) }}",
    "{% set match = [[7]] %}{{ match[0][0] }} {{ {'match': [1]}.match[0] }} {{ {'call': [1]}.call[0] }}",
    "{{ match['city'] }} {{ call['model'] }} {{ call.query.get('a', 1) }}",
    "{% set last_user = -2 %}{{ last_user|abs }} {% for match in [1.5] %}{{ match|round }}{% endfor %}",
    "{{ body.get('x', 'y') }} {{ body.items()|list }} {{ last_user.split()[0].upper() }} {{ {'a': {}}|tojson }}",
    "{{ range(*[1, 2]) }} {{ 'upper(1)' }} {{ '|upper(1)' }} {{ last_user|default('|trim(1,2,3)') }}",
    "{{ call.max_tokens|default(1, true) }} {{ '1' in last_user }} {%- filter upper -%}a{%- endfilter -%}",
]


@pytest.mark.parametrize("template", RIGHT)
def test_calls_that_some_request_lets_succeed_are_no_mistakes(template):
    assert render_words(template, scope(call("hello 12"), {"city": "Rome"}), "city")


@pytest.mark.parametrize("path", KINDS)
def test_variables_are_of_the_kind_that_checks_rely_on(path):
    for at in (scope(FULL), scope(call(*tool_result("cold"), n=1, seed=3, max_tokens=9))):
        seen = json.loads(render_words("{{ %s|tojson }}" % path, at))  # noqa: UP031
        assert make_plain(seen).__class__ in KINDS[path]


FAILS = {
    "{{ body.get }}": "not a value; did you forget the () of a method call?",
    "{{ body.clear() }}": "'JsonObject' object has no attribute 'clear'",
    "{{ body|tojson(call.n + 1000000000) }}": "tojson accepts an indent of 0 to 16",
    "{{ body.a }}": "`body.a` is undefined; if a request may lack it, write body.a | default('...')",
    "{{ body.a.b }}": (
        "`body.a` is undefined; if a request may lack it, write (body.a | default({})).b | default('...')"
    ),
    "{{ messages[3].text }}": (
        "`messages[3]` is undefined; if a request may lack it, write (messages[3] | default({})).text | default('...')"
    ),
    "{{ body['body.ab.c.d'] is defined }}{{ body.a }}": (
        "`body.a` is undefined; if a request may lack it, write body.a | default('...')"
    ),
    "{% if body['a'].b.c %}{% endif %}": (
        "`body['a']` is undefined; if a request may lack it, ask before: {% if body['a'] is defined %}"
    ),
    "{{ body.a.get('b') }}": (
        "undefined has no method named get (`body.a` is undefined); if a request may lack it, ask before: {% if body.a"
    ),
    "{% set x = body %}{{ x['a' ~ 1] }}": "`x['a1']` is undefined",
    "{{ 1 // call.turn }}": "unable to calculate 1 // 0",
    "{{ last_user|int }}": "invalid float literal",
    "{% for i in range(999) %}{% for j in range(999) %}x{% endfor %}{% endfor %}": "it takes more than 100,000 steps",
    "{{ 'x' * 2000000 }}": "its output is longer than 1,000,000 characters",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}": "recursion limit exceeded",
}


@pytest.mark.parametrize(("template", "why"), FAILS.items())
def test_a_template_that_fails_is_a_500_that_says_why(template, why, capfd):
    with pytest.raises(Failure) as caught:
        render_words(template)
    assert caught.value.reason == "server_error"
    assert caught.value.status == 500
    assert caught.value.message.startswith(f"r.yaml a rule: the template of this rule failed: {why}")
    assert caught.value.defect == caught.value.message


def test_a_template_that_fails_tells_little_of_the_request():
    secret = scope(call("secret " * 1000, raw={"secret": "x" * 1000}))
    with pytest.raises(Failure) as caught:
        render_words("{{ (last_user ~ body)|int }}", secret)
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
            render_words(template, made)
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
    assert render_words("{{ last_user }}", at) == asked
    assert render_words("{{ system }}", at) == ordered
    assert (
        render_words("{{ tool_result.text }}|{{ match.group }}|{{ body.x }}", at, "group")
        == f"{result}|{asked}|{asked}"
    )
    assert render_words("{% for m in messages %}{{ m.text }}{% endfor %}", at) == ordered + asked + result


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% raw %}{{ a|b }} {% include 'c' %}{% endraw %}", "{{ a|b }} {% include 'c' %}"),
        ("{# {{ a|b }} #}x", "x"),
        ("{{ 'this is nothing' }}", "this is nothing"),
    ],
)
def test_names_in_comments_and_raw_text_are_nobodys(template, text):
    assert render_words(template) == text


@pytest.mark.parametrize(("slip", "column"), [("{{ call.modl }}", 9), ("  {{ 1|uper }}", 11), ("{{ last is odd }}", 9)])
def test_a_slip_is_found_in_its_line(slip, column):
    document = read(f"rules:\n  - then:\n      text: |\n        one\n        {slip}\n        three\n", "r.yaml")
    with pytest.raises(RuleError) as caught:
        load((document,), {})
    (mistake,) = caught.value.mistakes
    assert (mistake.place.line, mistake.place.column) == (5, column)


MEDIA = r"""
rules:
  - when: {operation: speech, last_user: {regex: 'I am (?P<name>\w+)'}}
    then: {audio: {text: "Hello {{ match.name }}", voice: onyx}}
  - {when: {operation: speech}, then: {audio: "{{ last_user }}"}}
  - {when: {operation: transcriptions}, then: {transcript: "by {{ call.model }}"}}
  - {when: {operation: ocr}, then: {markdown: ["# {{ call.model }}", "two"]}}
"""


def test_the_texts_of_sounds_and_documents_are_templates(tmp_path: Path):
    server = local(MEDIA)

    def speak(text: str) -> bytes:
        return server.ask("/v1/audio/speech", {"model": "m", "voice": "alloy", "input": text}).body

    assert hear(speak("I am Ada")) == "Hello Ada"
    (tmp_path / "secret.mp3").write_bytes(b"secret")
    assert hear(speak(f"{tmp_path}/secret.mp3")) == f"{tmp_path}/secret.mp3"  # no client names a file
    kind, form = write_form({"model": "whisper-1", "file": speak("I am Bob")})
    heard = server.ask("/v1/audio/transcriptions", form, headers={"content-type": kind})
    assert heard.json["text"] == "by whisper-1"
    document = {"type": "document_url", "document_url": "https://a.example/a.pdf"}
    read_pages = server.ask("/mistral/v1/ocr", {"model": "reader", "document": document}).json["pages"]
    assert [page["markdown"] for page in read_pages] == ["# reader", "two"]


@pytest.mark.parametrize(
    ("audio", "mistake"),
    [
        ('{text: "{{ nope }}"}', 'unknown variable "nope"'),
        ("{voice: onxy}", 'unknown voice "onxy"; did you mean "onyx"'),
        ("{voice: puck}", 'unknown voice "puck"; did you mean "Puck"'),
        ("{voice: Zzz}", 'unknown voice "Zzz"; voices are alloy, '),
    ],
)
def test_mistakes_in_sounds_are_found(audio: str, mistake: str):
    with pytest.raises(RuleError, match=mistake):
        local(f"rules: [{{when: {{operation: speech}}, then: {{audio: {audio}}}}}]")


def find_failure(template: str) -> str:
    try:
        Environment().eval_expr(template)
    except TemplateError as error:
        return str(error.kind)
    return ""


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_that_is_suggested_is_one_of_minijinja(name: str) -> None:
    assert find_failure(f"''|{name}") != "UnknownFilter"  # other failures are about its arguments
