"""A document in Markdown."""

import pytest

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.core.tokens import count
from mockserver.model.forms.markdown import markdown


def written(tokens: int | None = None, said: str = "Tell me about green tea") -> str:
    call = Call("openai", "chat", "m", HttpRequest("POST", "/"), 0, messages=(Message("user", said),))
    (part,) = markdown(call, Seed(1), {} if tokens is None else {"tokens": tokens}).parts
    assert isinstance(part, Text)
    return part.text


def test_it_has_everything() -> None:
    text = written(300)
    assert text.startswith("# Green tea\n\n")
    for sign in (
        "\n## ",
        "\n- **",
        "\n1. ",
        "\n| --- | --- |\n",
        "\n```python\n",
        "\n```\n",
        "\n> ",
        "](https://example.com/",
    ):
        assert sign in text


@pytest.mark.parametrize("tokens", [20, 100, 1000])
def test_it_is_about_as_long_as_asked(tokens: int) -> None:
    assert tokens <= count(written(tokens)) < tokens + 100


def test_without_a_length_or_a_subject() -> None:
    assert 200 <= count(written(said="")) < 300
    assert written(said="").startswith("# A short document\n")
