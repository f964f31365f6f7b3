import pytest

from tests.kit.rules import loaded, mistakes

CANNOT = '"when" asks for the dialect "plain", which cannot send '


def wrong(when, then):
    return mistakes(f"rules:\n  - when: {when}\n    then: {then}\n")


USES = {
    "{refusal: a}": "3:12: " + CANNOT + "a refusal; openai can",
    "{text: a, annotations: [{}]}": "3:21: " + CANNOT + "annotations; openai can",
    "{text: a, annotate: {prompt: {hate: low}}}": "3:21: " + CANNOT + "filter severities; skytells can",
    "{content_filter: {on: prompt}}": "3:12: " + CANNOT + "filtered content; skytells, azure can",
    "{tool_calls: [{name: a, input: b}]}": ("3:35: " + CANNOT + "calls of custom tools; openai can"),
    "{parts: [{text: a}, {refusal: b}]}": "3:32: " + CANNOT + "a refusal; openai can",
    "{parts: [{tool_call: {name: a, input: b}}]}": ("3:42: " + CANNOT + "calls of custom tools; openai can"),
    "{items: [{type: message, text: a}]}": "3:12: " + CANNOT + "response items; openai can",
    "{parts: [{text: a}, {item: {type: message, text: a}}]}": ("3:32: " + CANNOT + "response items; openai can"),
    "{text: a, failed: true}": "3:21: " + CANNOT + "an answer that breaks off; openai can",
    "{embedding: [1]}": "3:12: " + CANNOT + "embeddings; openai can",
    "{moderation: {}}": "3:12: " + CANNOT + "moderations; openai can",
    "{choices: [{text: a}, {refusal: b}]}": "3:34: " + CANNOT + "a refusal; openai can",
    "{steps: [{text: a}, {refusal: b}]}": "3:32: " + CANNOT + "a refusal; openai can",
    "{one_of: [{then: {refusal: b}}]}": "3:29: " + CANNOT + "a refusal; openai can",
}


@pytest.mark.parametrize(("then", "mistake"), USES.items())
def test_what_a_dialect_cannot_send(then, mistake):
    assert wrong("{dialect: plain}", then) == [mistake]


@pytest.mark.parametrize("dialect", ["plain", "[openai, plain]", "{equals: plain}", "{in: [openai, plain]}"])
def test_however_the_dialect_is_named(dialect):
    assert len(wrong(f"{{dialect: {dialect}}}", "{refusal: a}")) == 1
    assert len(wrong(f"{{all: [{{dialect: {dialect}}}, {{model: x}}]}}", "{refusal: a}")) == 1


def test_reasoning_is_counted_even_where_no_client_reads_it():
    assert loaded("rules: [{when: {dialect: plain}, then: {text: a, reasoning: b}}]")


@pytest.mark.parametrize(
    "when", ["{}", "{dialect: p*}", "{dialect: {glob: pl*n}}", "{dialect: openai}", "{dialect: 3}"]
)
def test_where_nothing_is_pinned_everything_may_stand(when):
    if "3" in when:
        assert "cannot send" not in " ".join(wrong(when, "{refusal: a}"))
    else:
        assert loaded(f"rules: [{{when: {when}, then: {{refusal: a}}}}]")


UNKNOWN = {
    "{dialect: openia}": '2:21: unknown dialect "openia"; did you mean "openai"?',
    "{dialect: zzz}": '2:21: unknown dialect "zzz"; it is one of openai, skytells, azure, plain',
    "{dialect: {equals: azur}}": '2:30: unknown dialect "azur"; did you mean "azure"?',
    "{dialect: {in: [azure, opnai]}}": '2:34: unknown dialect "opnai"; did you mean "openai"?',
    "{dialect: [azure, opnai]}": '2:29: unknown dialect "opnai"; did you mean "openai"?',
}


@pytest.mark.parametrize(("when", "mistake"), UNKNOWN.items())
def test_unknown_dialects(when, mistake):
    assert wrong(when, "{text: a}") == [mistake]


def test_a_feature_that_no_dialect_has_offers_none():
    from mockserver.config.errors import RuleError
    from mockserver.config.source import read
    from mockserver.rules.load import load

    document = read("rules: [{when: {dialect: a}, then: {refusal: b}}]", "r.yaml")
    with pytest.raises(RuleError, match=r'"a", which cannot send a refusal  \['):
        load([document], {"a": frozenset()})
