"""Input items: only role and content, or the type, are looked at, and what is wrong there is named."""

from collections.abc import Callable
from typing import Any

import pytest

WRONG: list[tuple[Any, str, str]] = [
    (5, "input", "Invalid type for 'input': expected one of a string or array of objects, but got an integer instead."),
    ([5], "input[0]", "Invalid type for 'input[0]': expected an object, but got an integer instead."),
    ([{}], "input[0].role", "Missing required parameter: 'input[0].role'."),
    (
        [{"type": 5}],
        "input[0].type",
        "Invalid type for 'input[0].type': expected a string, but got an integer instead.",
    ),
    ([{"id": 5}], "input[0].id", "Invalid type for 'input[0].id': expected a string, but got an integer instead."),
    ([{"role": "user"}], "input[0].content", "Missing required parameter: 'input[0].content'."),
    ([{"type": "message", "id": "m"}], "input[0].role", "Missing required parameter: 'input[0].role'."),
    (
        [{"role": "tool", "content": ""}],
        "input[0].role",
        "Invalid value: 'tool'. Supported values are: 'user', 'assistant', 'system', and 'developer'.",
    ),
    (
        ["", {"role": "user", "content": 5}],
        "input[0]",
        "Invalid type for 'input[0]': expected an object, but got a string instead.",
    ),
    (
        [{"role": "user", "content": None}],
        "input[0].content",
        "Invalid type for 'input[0].content': expected one of a string or array of objects, but got null instead.",
    ),
    (
        [{"role": "user", "content": ["hi"]}],
        "input[0].content[0]",
        "Invalid type for 'input[0].content[0]': expected an object, but got a string instead.",
    ),
    (
        [{"role": "user", "content": [{"text": "hi"}]}],
        "input[0].content[0].type",
        "Missing required parameter: 'input[0].content[0].type'.",
    ),
    (
        [{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "input_text"}]}],
        "input[1].content[0].text",
        "Missing required parameter: 'input[1].content[0].text'.",
    ),
    (
        [{"role": "assistant", "content": [{"type": "refusal", "refusal": 3}]}],
        "input[0].content[0].refusal",
        "Invalid type for 'input[0].content[0].refusal': expected a string, but got an integer instead.",
    ),
]


@pytest.mark.parametrize(("given", "param", "message"), WRONG)
def test_what_is_wrong_is_named(speak: Callable[[str], Any], given: Any, param: str, message: str) -> None:
    error = speak("openai").complains({"input": given})
    assert (error["param"], error["message"]) == (param, message)
