"""Bodies of text completions become Calls, beyond the tables of requests/; answers go out whole or as frames."""

from typing import Any

import pytest

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.dialects._completions import (
    WHOLE_PROMPT,
    parse_completion,
    too_many,
)

HTTP = HttpRequest("POST", "/completions")


def parse(**body: Any) -> Call:
    return parse_completion(HTTP, {"model": "m", "prompt": "Say it.", **body}, "openai", strict=False)


def test_a_call() -> None:
    call = parse(n=2, stop="x", logprobs=3, max_tokens=9, seed=4, echo=True, stream=True)
    assert (call.operation, call.model, call.last_user) == ("completions", "m", "Say it.")
    options = call.options
    assert (options.n, options.stop, options.logprobs, options.max_tokens, options.seed) == (
        2,
        ("x",),
        3,
        9,
        4,
    )
    options = call.options
    assert (options.echo, call.stream, options.include_usage, options.usual_tokens) == (
        WHOLE_PROMPT,
        True,
        False,
        None,
    )
    assert call.prompt_tokens == 3


@pytest.mark.parametrize(
    ("prompt", "n", "fine"),
    [
        ("a", 128, True),
        (list(range(3000)), 1, True),
        (["a"] * 16, 128, True),
        (["a"] * 17, 128, False),
        ([[1]] * 9, None, True),
    ],
)
def test_how_many_choices_can_be_made_at_once(prompt: Any, n: int | None, fine: bool) -> None:
    assert (too_many({"prompt": prompt, "n": n}) is None) is fine
