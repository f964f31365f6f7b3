"""Filter results and log probabilities."""

from typing import Any

import pytest

from mockserver.core.plan import Choice, Logprob, Text, Verdict
from mockserver.wire.content_filter import (
    chat_annotation,
    completion_filter,
    logprobs_block,
    prompt_filter,
    response_annotation,
    spread_logprobs,
)

SAFE = {"filtered": False, "severity": "safe"}
UNSEEN = {"detected": False, "filtered": False}


def test_all_is_safe_that_is_not_named() -> None:
    harms = {"hate": SAFE, "self_harm": SAFE, "sexual": SAFE, "violence": SAFE}
    completion = completion_filter(())
    assert completion == {**harms, "protected_material_code": UNSEEN, "protected_material_text": UNSEEN}
    prompt = prompt_filter(())
    assert prompt == {"prompt_index": 0, "content_filter_results": {**harms, "jailbreak": UNSEEN}}


def test_each_side_shows_its_own_detections() -> None:
    safety = (
        Verdict("violence", "medium"),
        Verdict("jailbreak", detected=True, filtered=True),
        Verdict("protected_material_text", detected=True),
    )
    completion = completion_filter(safety)
    assert completion["violence"] == {"filtered": False, "severity": "medium"}
    assert completion["protected_material_text"] == {"detected": True, "filtered": False}
    assert "jailbreak" not in completion
    prompt = prompt_filter(safety)["content_filter_results"]
    assert prompt["jailbreak"] == {"detected": True, "filtered": True}
    assert "protected_material_text" not in prompt


TOKENS = (Logprob("Hé", -0.5, (("He", -1.5),)), Logprob("llo", -0.25), Logprob(" you", -2.0))


def test_logprobs_of_a_choice() -> None:
    block = logprobs_block(Choice((Text("Hé"),), logprobs=TOKENS[:1]))
    assert block == {
        "content": [
            {
                "token": "Hé",
                "logprob": -0.5,
                "bytes": [72, 195, 169],
                "top_logprobs": [{"token": "He", "logprob": -1.5, "bytes": [72, 101]}],
            }
        ],
        "refusal": None,
    }
    assert logprobs_block(Choice((Text("Hé"),))) is None


@pytest.mark.parametrize(
    ("pieces", "shares"),
    [
        (("Hé", "llo", " you"), [["Hé"], ["llo"], [" you"]]),
        (("Héllo you",), [["Hé", "llo", " you"]]),
        (("H", "éllo ", "you"), [[], ["Hé", "llo"], [" you"]]),
        ((), []),
    ],
)
def test_tokens_go_with_the_piece_in_which_they_end(pieces: tuple[str, ...], shares: list[list[str]]) -> None:
    blocks = list(spread_logprobs(pieces, TOKENS))
    assert [[entry["token"] for entry in block["content"] or ()] for block in blocks] == shares


def test_pieces_beyond_the_tokens_have_none() -> None:
    assert list(spread_logprobs(("Hé", "x"), TOKENS[:1]))[1]["content"] == []


NESTED = {"type": "url_citation", "url_citation": {"url": "u", "title": "t", "start_index": 0, "end_index": 1}}
FLAT = {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}
FILE = {"type": "file_citation", "file_id": "f", "filename": "a", "index": 0}


@pytest.mark.parametrize(
    ("note", "in_chat", "in_responses"),
    [(NESTED, NESTED, FLAT), (FLAT, NESTED, FLAT), (FILE, FILE, FILE), ({"type": 5}, {"type": 5}, {"type": 5})],
)
def test_an_annotation_has_the_form_of_its_api(
    note: dict[str, Any], in_chat: dict[str, Any], in_responses: dict[str, Any]
) -> None:
    assert (chat_annotation(note), response_annotation(note)) == (in_chat, in_responses)
