from openai.types import ModerationCreateResponse
from pydantic import TypeAdapter

from mockserver.core.plan import CATEGORIES, Judgement, Moderations
from mockserver.wire.documents import moderations

OFFICIAL = TypeAdapter(ModerationCreateResponse)
FOUND = Moderations("modr-1", "m", (Judgement({"hate": 0.7, "violence": 0.1}, frozenset({"hate"})), Judgement()))


def test_results_have_every_category():
    body = moderations(FOUND, ("text",))
    assert (body["id"], body["model"], len(body["results"])) == ("modr-1", "m", 2)
    first, second = body["results"]
    assert (first["flagged"], second["flagged"]) == (True, False)
    assert [name for name, flagged in first["categories"].items() if flagged] == ["hate"]
    assert first["category_scores"] == {**dict.fromkeys(CATEGORIES, 0.0), "hate": 0.7, "violence": 0.1}
    OFFICIAL.validate_python(body, strict=True)


def test_images_are_judged_in_some_categories():
    applied = moderations(FOUND, ("text", "image"))["results"][0]["category_applied_input_types"]
    assert applied["violence"] == ["text", "image"]
    assert applied["hate"] == ["text"]
    alone = moderations(FOUND, ("image",))["results"][0]["category_applied_input_types"]
    assert (alone["sexual"], alone["sexual/minors"]) == (["image"], [])
