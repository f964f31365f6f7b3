import pytest

from mockserver.core.draft import DocumentDraft
from tests.kit.rules import respond, then_mistakes

STATED = {
    "{embedding: [1, -0.5]}": DocumentDraft((1.0, -0.5)),
    "{embedding: [1], model: m, usage: {prompt_tokens: 3}, headers: {A: b}}": DocumentDraft(
        (1.0,), "m", {"prompt": 3}, (("a", "b"),)
    ),
    "{moderation: {violence: 0.92, self-harm/intent: 0}}": DocumentDraft({"violence": 0.92, "self-harm/intent": 0.0}),
    "{moderation: {}}": DocumentDraft({}),
    "{moderation: [hate, sexual/minors], model: m}": DocumentDraft({"hate": 0.95, "sexual/minors": 0.95}, "m"),
}


@pytest.mark.parametrize(("then", "stated"), STATED.items())
def test_what_is_no_text(then, stated):
    assert respond(then).outcome == stated


BAD = {
    "{embedding: []}": '12: "embedding" expects at least one item, not []',
    "{embedding: [a]}": '13: an item of "embedding" expects a number, not "a"',
    "{embedding: [1.0e+39]}": '13: an item of "embedding" expects at most 3.4e+38, not 1e+39',
    "{embedding: {a: 1}}": '12: "embedding" expects a list, not {"a": 1}',
    "{moderation: 3}": '13: "moderation" expects scores such as {violence: 0.92}, or a list of categories, not 3',
    "{moderation: {violens: 1}}": '14: unknown key "violens"; did you mean "violence"?',
    "{moderation: {hate: 2}}": '20: "hate" expects at most 1, not 2',
    "{moderation: [violens]}": (
        '14: an item of "moderation" expects harassment, harassment/threatening, hate, hate/threatening, illicit, '
        "illicit/violent, self-harm, self-harm/instructions, self-harm/intent, sexual, sexual/minors, violence or "
        'violence/graphic, not "violens"; did you mean "violence"?'
    ),
    "{embedding: [1], text: a}": '1: use "text" or "embedding", not both',
    "{embedding: [1], moderation: []}": '17: use "embedding" or "moderation", not both',
    "{moderation: [], usage: {}}": '17: "usage" does not go with "moderation"',
    "{embedding: [1], finish: stop}": '17: "finish" does not go with "embedding"',
    "{embedding: [1], model: '{{ x }}'}": "24: templates are not supported here: this is sent unchanged",
}


@pytest.mark.parametrize(("then", "mistake"), BAD.items())
def test_what_cannot_be(then, mistake):
    assert then_mistakes(then) == [mistake]
