"""All shapes of log probabilities, whole and in pieces."""

from typing import Any

import pytest

from mockserver.core.plan import Choice, Logprob, Text
from mockserver.core.tokens import Token, find_token_id
from mockserver.wire.logprobs import (
    LogprobsShape,
    add_offsets,
    group_by_piece,
    make_content_logprobs,
    make_logprobs_block,
    shape_logprobs,
)

TOKENS = (Logprob("Hi", -0.5, (("Hi", -0.5), ("Ho", -2.0))), Logprob(" é", -0.25, ((" é", -0.25),)), Logprob("!", -1.0))
CHOICE = Choice((Text(" é!"),), logprobs=TOKENS, echo="Hi")
IDS = [find_token_id(token) for token in ("Hi", " é", "!")]
LEGACY: dict[str, Any] = {"tokens": ["Hi", " é", "!"], "token_logprobs": [-0.5, -0.25, -1.0], "text_offset": [0, 2, 4]}


@pytest.mark.parametrize(
    ("pieces", "ends"),
    [
        (["Hi", " é", "!"], [[0], [2], [4]]),
        (["Hi é!"], [[0, 2, 4]]),
        (["H", "i é", "!"], [[], [0, 2], [4]]),
        (["Hi ", "", "é!"], [[0], [], [2, 4]]),
        ([], []),
    ],
)
def test_a_piece_has_the_tokens_that_end_within_it(pieces: list[str], ends: list[list[int]]) -> None:
    assert [[offset for offset, _ in tokens] for tokens in group_by_piece(pieces, add_offsets(CHOICE))] == ends


@pytest.mark.parametrize(
    ("shape", "echoes", "expected"),
    [
        (LogprobsShape(), True, {**LEGACY, "top_logprobs": None}),
        (
            LogprobsShape(alternatives=2),
            True,
            {**LEGACY, "top_logprobs": [{"Hi": -0.5, "Ho": -2.0}, {" é": -0.25}, {"!": -1.0}]},
        ),
        (
            LogprobsShape(alternatives=1, null_first=True),
            True,
            {
                **LEGACY,
                "token_logprobs": [None, -0.25, -1.0],
                "top_logprobs": [None, {" é": -0.25}, {"!": -1.0}],
            },
        ),
        (LogprobsShape(null_first=True), False, {**LEGACY, "top_logprobs": None}),
        (
            LogprobsShape(token_ids=True),
            True,
            {**LEGACY, "top_logprobs": None, "token_ids": IDS},
        ),
    ],
)
def test_arrays(shape: LogprobsShape, echoes: bool, expected: Any) -> None:
    assert shape_logprobs(add_offsets(CHOICE), shape, echoes=echoes) == expected


def test_a_character_of_several_tokens_has_null_for_its_first_alone() -> None:
    halves = Token("", 1, b"\xc3"), Token("é", 2, b"\xa9")
    choice = Choice((Text(""),), logprobs=tuple(Logprob(token, -0.5) for token in halves), echo="é")
    made = shape_logprobs(add_offsets(choice), LogprobsShape(alternatives=1, null_first=True), echoes=True)
    assert made == {
        "tokens": ["bytes:\\xc3", "bytes:\\xa9"],
        "token_logprobs": [None, -0.5],
        "top_logprobs": [None, {"bytes:\\xa9": -0.5}],
        "text_offset": [0, 0],
    }


def test_a_list_of_tokens() -> None:
    first, second, _ = make_content_logprobs(add_offsets(CHOICE), LogprobsShape("content", 2))["content"]
    assert [(top["token"], top["logprob"], top["bytes"]) for top in first["top_logprobs"]] == [
        ("Hi", -0.5, [72, 105]),
        ("Ho", -2.0, [72, 111]),
    ]
    assert (second["text_offset"], second["bytes"], second["sampling_logprob"]) == (2, [32, 195, 169], -0.25)


def test_a_token_without_alternatives_is_its_own() -> None:
    last = make_content_logprobs(add_offsets(CHOICE), LogprobsShape("content", 2))["content"][-1]
    assert [top["token"] for top in last["top_logprobs"]] == ["!"]


PLAIN_TOKENS = (Logprob("Hé", -0.5, (("He", -1.5),)), Logprob("llo", -0.25), Logprob(" you", -2.0))


def test_logprobs_of_a_choice() -> None:
    block = make_logprobs_block(Choice((Text("Hé"),), logprobs=PLAIN_TOKENS[:1]))
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
    assert make_logprobs_block(Choice((Text("Hé"),))) is None
