import pytest

from mockserver.core.plan import Verdict
from mockserver.rules.answer.errors import verdicts
from mockserver.rules.schema import AnnotateSpec, FilterSpec
from tests.kit.rules import then_mistakes

VIOLENCE = FilterSpec(on="completion", severity="medium")


def test_a_trip_is_of_one_side():
    assert verdicts(None, VIOLENCE, "completion") == (Verdict("violence", "medium", filtered=True),)
    assert verdicts(None, VIOLENCE, "prompt") == ()
    assert verdicts(None, FilterSpec(on="prompt"), "prompt") == (Verdict("violence", "high", filtered=True),)


def test_a_detection_has_no_severity():
    trip = FilterSpec(on="prompt", category="jailbreak")
    assert verdicts(None, trip, "prompt") == (Verdict("jailbreak", filtered=True, detected=True),)


def test_annotations_are_of_their_side_and_after_the_trip():
    annotate = AnnotateSpec.model_validate(
        {
            "prompt": {"jailbreak": False},
            "completion": {"hate": "low", "violence": "safe", "protected_material_text": True},
        }
    )
    assert verdicts(annotate, None, "prompt") == (Verdict("jailbreak", detected=False),)
    assert verdicts(annotate, VIOLENCE, "completion") == (
        Verdict("violence", "medium", filtered=True),
        Verdict("hate", "low"),
        Verdict("protected_material_text", detected=True),
    )
    assert verdicts(AnnotateSpec(), None, "prompt") == ()


BAD = {
    "{text: a, content_filter: {on: completion, category: jailbreak}}": (
        '53: "jailbreak" applies to the prompt only; write on: prompt'
    ),
    "{content_filter: {on: prompt, category: protected_material_text}}": (
        '40: "protected_material_text" applies to the completion only; write on: completion'
    ),
    "{content_filter: {on: prompt, category: jailbreak, severity: high}}": (
        '51: "jailbreak" is detected or not; it has no severity'
    ),
    "{content_filter: {on: prompt, after_tokens: 3}}": (
        '30: "after_tokens" counts the completion\'s tokens; with on: prompt there is none'
    ),
    "{content_filter: {on: prompt, severity: safe}}": '40: "severity" expects low, medium or high, not "safe"',
    "{text: a, annotate: {prompt: {violence: 3}}}": '40: "violence" expects safe, low, medium or high, not 3',
    "{text: a, annotate: {completion: {jailbreak: true}}}": (
        '34: unknown key "jailbreak"; "completion" takes hate, self_harm, sexual, violence, '
        "protected_material_text, protected_material_code"
    ),
}


@pytest.mark.parametrize(("then", "mistake"), BAD.items())
def test_what_no_filter_can_say(then, mistake):
    assert then_mistakes(then) == [mistake]
