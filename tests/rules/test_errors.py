import pytest

from mockserver.core.frames import Frame
from mockserver.core.plan import Broken, Failure, Raw, Verdict
from mockserver.rules.answer.content import compile_headers, make_verdicts
from mockserver.rules.schema import AnnotateSpec, FilterSpec
from tests.kit.calls import call
from tests.kit.rules import context, draft, find_then_mistakes, list_said, respond, scope

MADE = {
    "{error: 429}": Failure("rate_limit", status=429),
    "{error: 429, retry_after: 2s}": Failure("rate_limit", status=429, retry_after=2.0),
    "{error: quota, headers: {X-A: b}}": Failure("quota", headers=(("x-a", "b"),)),
    "{error: {status: 422, message: 'No {{ call.model }}.'}}": Failure(
        "unprocessable", status=422, message="No gpt-4o."
    ),
    "{error: {reason: overloaded, code: x, type: y, param: n, retry_after: 1s, headers: {a: 1}}, headers: {b: 2}}": (
        Failure(
            "overloaded", code="x", kind="y", param="n", retry_after=1.0, headers=(("a", "1"), ("b", "2"))
        )
    ),
    "{content_filter: {on: prompt, category: jailbreak}, annotate: {prompt: {hate: low}}, headers: {a: b}}": Failure(
        "content_filter",
        details={"safety": (Verdict("jailbreak", filtered=True, detected=True), Verdict("hate", "low"))},
        headers=(("a", "b"),),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("then", "failure"), MADE.items())
def test_the_failures_that_rules_state(then, failure):
    assert respond(then, scope(call("hi"))).outcome == failure


def test_each_call_gets_a_failure_of_its_own():
    from tests.kit.rules import load_rule_text

    (rule,) = load_rule_text("rules: [{then: {error: 429}}]")
    assert rule.then.respond(scope()).outcome is not rule.then.respond(scope()).outcome


BAD = {
    "{error: {message: x}}": '8: "error" needs a status, such as {status: 429, message: Slow down}',
    "{error: {status: 429, retry_after: 1}, retry_after: 2}": '39: "retry_after" is also in "error"; keep only one',
    "{error: 200}": ("8: 200 is not an error status; write 400 to 599, or a table with a status and a message"),
    "{error: rate_limt}": '8: unknown error "rate_limt"; did you mean "rate_limit"?',
    "{error: '429'}": '8: unknown error "429"; write the number without quotes',
    "{error: unmatched}": (
        '8: unknown error "unmatched"; choose one of bad_parameter, content_filter, context_length, invalid_key, '
        "billing, forbidden, model_not_found, unknown_model, timeout, conflict, too_large, unsupported_media_type, "
        "unprocessable, rate_limit, quota, server_error, bad_gateway, overloaded, gateway_timeout"
    ),
    "{error: 429, headers: {'a b': c}}": (
        '30: "a b" is not a valid header name: use only letters, digits and !#$%&\'*+.^_`|~-'
    ),
}


@pytest.mark.parametrize(("then", "mistake"), BAD.items())
def test_failures_that_cannot_be(then, mistake):
    assert find_then_mistakes(then) == [mistake]


BROKEN = {
    "{text: a, failed: true}": Broken(),
    "{text: a, failed: {code: rate_limit_exceeded}}": Broken("rate_limit_exceeded"),
    "{text: a, failed: {message: 'No {{ call.model }}.', event: error}}": Broken(message="No gpt-4o.", event=True),
    "{text: a}": None,
}


@pytest.mark.parametrize(("then", "broken"), BROKEN.items())
def test_how_an_answer_breaks_off(then, broken):
    assert draft(then, scope(call("hi"))).broken == broken


NOT_BROKEN = {
    "{text: a, failed: false}": '18: "failed" expects true, not false',
    "{text: a, failed: soon}": '18: "failed" expects true, or a table with a code and a message, not "soon"',
    "{text: a, failed: {code: '{{ x }}'}}": "25: templates are not supported here: this is sent unchanged",
    "{choices: [{text: a}], failed: true}": (
        '23: "failed" cannot be combined with "choices"; all choices break off together, so use a single text'
    ),
}


@pytest.mark.parametrize(("then", "mistake"), NOT_BROKEN.items())
def test_what_cannot_break_off(then, mistake):
    assert find_then_mistakes(then) == [mistake]


NAMES = "use only letters, digits and !#$%&'*+.^_`|~-"

BAD_HEADERS = {
    ("a b", "x"): f'"a b" is not a valid header name: {NAMES}',
    ("Content-Length", "3"): 'the server sets "content-length" itself; remove it',
    ("a", "b\r\nc: d"): '"b\\r\\nc: d" is not a valid header value: it must be one line without control characters',
    ("Connection", "close"): 'the server sets "connection" itself; remove it',
    ("a", "{{ last_user }}"): "templates are not supported here: this is sent unchanged",
    ("a", "bü"): '"bü" is not a valid header value: use ASCII without leading or trailing spaces',
}


@pytest.mark.parametrize(("header", "message"), BAD_HEADERS.items())
def test_what_cannot_go_over_the_wire(header, message):
    here = context()
    compile_headers(dict([header]), here)
    assert list_said(here) == [message]


TEXT = (("content-type", "text/plain; charset=utf-8"),)
JSON = (("content-type", "application/json"),)
EVENTS = (("content-type", "text/event-stream"),)

RAW = {
    "{raw: {body: hello}}": Raw(200, TEXT, b"hello"),
    "{raw: {body: '{{ last_user }} é'}}": Raw(200, TEXT, "{{ last_user }} é".encode()),
    "{raw: {status: 503, body: {a: [1]}}}": Raw(503, JSON, b'{"a":[1]}'),
    "{raw: {body: null}}": Raw(200, TEXT, b"null"),
    "{raw: {headers: {Content-Type: text/html, x-a: b}, body: <p>}}": Raw(
        200, (("content-type", "text/html"), ("x-a", "b")), b"<p>"
    ),
    '{raw: {frames: ["data: {\\n\\n", {a: 1}, 2]}}': Raw(
        200, EVENTS, frames=(b"data: {\n\n", Frame(b'{"a":1}'), Frame(b"2"))
    ),
}


@pytest.mark.parametrize(("then", "raw"), RAW.items())
def test_bytes_as_given(then, raw):
    assert respond(then).outcome == raw


BAD_RAW = {
    "{raw: {body: a, frames: [b]}}": '16: use "body" or "frames", not both',
    "{raw: {headers: {a: b, connection: close}}}": '35: the server sets "connection" itself; remove it',
}


@pytest.mark.parametrize(("then", "mistake"), BAD_RAW.items())
def test_raw_replies_that_cannot_be(then, mistake):
    assert find_then_mistakes(then) == [mistake]


VIOLENCE = FilterSpec(on="completion", severity="medium")


def test_annotations_are_of_their_side_and_after_the_trip():
    annotate = AnnotateSpec.model_validate(
        {
            "prompt": {"jailbreak": False},
            "completion": {"hate": "low", "violence": "safe", "protected_material_text": True},
        }
    )
    assert make_verdicts(annotate, None, "prompt") == (Verdict("jailbreak", detected=False),)
    assert make_verdicts(annotate, VIOLENCE, "completion") == (
        Verdict("violence", "medium", filtered=True),
        Verdict("hate", "low"),
        Verdict("protected_material_text", detected=True),
    )
    assert make_verdicts(AnnotateSpec(), None, "prompt") == ()


BAD_TRIPS = {
    "{text: a, content_filter: {on: completion, category: jailbreak}}": (
        '53: "jailbreak" applies to the prompt only; write on: prompt'
    ),
    "{content_filter: {on: prompt, category: protected_material_text}}": (
        '40: "protected_material_text" applies to the completion only; write on: completion'
    ),
    "{content_filter: {on: prompt, after_tokens: 3}}": (
        '30: "after_tokens" counts tokens of the completion; remove it, or write on: completion'
    ),
    "{text: a, annotate: {completion: {jailbreak: true}}}": (
        '34: unknown key "jailbreak"; "completion" accepts hate, self_harm, sexual, violence, '
        "protected_material_text, protected_material_code"
    ),
}


@pytest.mark.parametrize(("then", "mistake"), BAD_TRIPS.items())
def test_what_no_filter_can_say(then, mistake):
    assert find_then_mistakes(then) == [mistake]
