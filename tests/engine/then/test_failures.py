import pytest

from mockserver.core.plan import Broken, Failure, Text, Verdict
from tests.kit.calls import call
from tests.kit.rules import draft, respond, scope, then_mistakes

MADE = {
    "{error: 429}": Failure("rate_limit", status=429),
    "{error: 418}": Failure("bad_parameter", status=418),
    "{error: 599}": Failure("server_error", status=599),
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
    "{error: {reason: rate_limit, status: 503, code: 7}}": Failure("rate_limit", status=503, code=7),
    "{content_filter: {on: prompt}}": Failure(
        "content_filter", details={"safety": (Verdict("violence", "high", filtered=True),)}
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


@pytest.mark.parametrize(
    "name",
    ["invalid_key", "model_not_found", "context_length", "rate_limit", "quota", "unprocessable", "content_filter",
     "overloaded", "timeout"],
)  # fmt: skip
def test_the_short_names(name):
    assert respond(f"{{error: {name}}}").outcome == Failure(name)


def test_each_call_gets_a_failure_of_its_own():
    from tests.kit.rules import loaded

    (rule,) = loaded("rules: [{then: {error: 429}}]")
    assert rule.then.respond(scope()).outcome is not rule.then.respond(scope()).outcome


BAD = {
    "{error: 200}": ("8: 200 is not an error status; write 400 to 599, or a table with a status and a message"),
    "{error: 4.5}": '8: "error" expects a whole number, not 4.5',
    "{error: rate_limt}": '8: unknown error "rate_limt"; did you mean "rate_limit"?',
    "{error: '429'}": '8: unknown error "429"; write the number without quotes',
    "{error: unmatched}": (
        '8: unknown error "unmatched"; it is one of bad_parameter, content_filter, context_length, invalid_key, '
        "billing, forbidden, model_not_found, unknown_model, timeout, conflict, too_large, unsupported_media_type, "
        "unprocessable, rate_limit, quota, server_error, bad_gateway, overloaded, gateway_timeout"
    ),
    "{error: {message: x}}": '8: "error" needs a status, such as {status: 429, message: Slow down}',
    "{error: {reason: ratelimit}}": '17: unknown error "ratelimit"; did you mean "rate_limit"?',
    "{error: {status: 429, retry_after: 1}, retry_after: 2}": ('39: "retry_after" is already inside "error"; keep one'),
    "{error: {status: 429, message: '{{ x }}'}}": (
        '31: there is no "x" in templates; it is one of match, call, last_user, last_message, system, messages, '
        "tool_result, tool_results, tools, body, fake"
    ),
    "{error: 429, headers: {'a b': c}}": (
        '30: "a b" is not a valid header name: use only letters, digits and !#$%&\'*+.^_`|~-'
    ),
}


@pytest.mark.parametrize(("then", "mistake"), BAD.items())
def test_failures_that_cannot_be(then, mistake):
    assert then_mistakes(then) == [mistake]


BROKEN = {
    "{text: a, failed: true}": Broken(),
    "{text: a, failed: {}}": Broken(),
    "{text: a, failed: {code: rate_limit_exceeded}}": Broken("rate_limit_exceeded"),
    "{text: a, failed: {message: 'No {{ call.model }}.', event: error}}": Broken(message="No gpt-4o.", event=True),
    "{parts: [{text: a}], failed: true}": Broken(),
    "{echo: true, failed: true}": Broken(),
    "{generate: words, failed: true}": Broken(),
    "{text: a}": None,
}


@pytest.mark.parametrize(("then", "broken"), BROKEN.items())
def test_how_an_answer_breaks_off(then, broken):
    assert draft(then, scope(call("hi"))).broken == broken


def test_an_answer_can_break_off_before_it_says_anything():
    made = draft("{failed: true, usage: {prompt_tokens: 3}}")
    assert (made.choices[0].parts, made.broken) == ((), Broken())
    made = draft("{failed: true, reasoning: hm, items: [{type: message, text: a}]}")
    assert made.choices[0].parts[1:] == (Text("a", apart=True),)


NOT_BROKEN = {
    "{text: a, failed: false}": '18: "failed" expects true, not false',
    "{text: a, failed: soon}": '18: "failed" expects true, or a table with a code and a message, not "soon"',
    "{text: a, failed: {event: x}}": '26: "event" expects error, not "x"',
    "{text: a, failed: {code: '{{ x }}'}}": "25: templates are not supported here: this is sent unchanged",
    "{error: 429, failed: true}": '13: "failed" does not go with "error"',
    "{choices: [{text: a}], failed: true}": (
        '23: "failed" does not go with "choices"; an answer breaks off as a whole, so use a single text'
    ),
}


@pytest.mark.parametrize(("then", "mistake"), NOT_BROKEN.items())
def test_what_cannot_break_off(then, mistake):
    assert then_mistakes(then) == [mistake]
