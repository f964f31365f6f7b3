"""Several prompts in one call, and prompts read anew by the tokenizer that counts them."""

from mockserver.core.call import Call, Message, Prompt
from mockserver.core.http import HttpRequest
from mockserver.core.tokens import APPROX
from mockserver.engine.answer import counted, singles
from mockserver.tokenizers import named
from tests.kit.local import Answered, Local, local

TEXTS = """
rules:
  - {name: first, when: {last_user: One}, then: {text: " first", logprobs: [-0.1]}}
  - {name: busy, when: {last_user: Busy}, then: {error: 429}}
"""


def completed(server: Local, prompt: object, **more: object) -> Answered:
    return server.ask("/v1/completions", {"model": "m", "prompt": prompt, **more})


def several(*prompts: Prompt) -> Call:
    texts = [prompt.text for prompt in prompts]
    return Call(
        dialect="openai",
        operation="completions",
        model="m",
        http=HttpRequest("POST", "/completions"),
        meaning={"prompt": texts},
        messages=tuple(Message("user", text) for text in texts),
        prompts=prompts,
    )


def test_single_calls_ask_for_one_prompt() -> None:
    one, other = singles(several(Prompt("One"), Prompt("Two")))
    assert (one.meaning, one.last_user, one.prompts) == ({"prompt": "One"}, "One", (Prompt("One"),))
    assert (other.meaning, other.last_user, other.prompts) == ({"prompt": "Two"}, "Two", (Prompt("Two"),))


def test_numbers_read_as_the_tokenizer_knows_them() -> None:
    asked = several(Prompt("<|15339|><|1917|>", (15339, 1917)))
    assert counted(asked, APPROX) is asked
    read = counted(asked, named("cl100k_base"))
    assert (read.last_user, read.prompts[0].text, read.meaning) == (
        "hello world",
        "hello world",
        {"prompt": "hello world"},
    )


def test_each_of_several_prompts_gets_what_it_would_get_alone() -> None:
    server, prompts = local(TEXTS), ["One", "Two", [7, 8]]
    asked = {"n": 2, "max_tokens": 4, "logprobs": 1, "echo": True}
    together = completed(server, ["One", "Two", "<|7|><|8|>"], **asked)
    alone = [completed(server, prompt, **asked) for prompt in prompts]
    choices = [choice for answered in alone for choice in answered.json["choices"]]
    assert [choice["text"] for choice in together.json["choices"]] == [choice["text"] for choice in choices]
    assert [choice["index"] for choice in together.json["choices"]] == [0, 1, 2, 3, 4, 5]
    assert together.json["choices"][2]["logprobs"] == choices[2]["logprobs"]
    for kind in ("completion_tokens",):
        assert together.json["usage"][kind] == sum(answered.json["usage"][kind] for answered in alone)
    assert together.source.endswith("first, generated")


def test_a_failure_for_one_prompt_fails_all() -> None:
    assert completed(local(TEXTS), ["One", "Busy", "Two"]).status == 429


def test_images_belong_to_their_prompt() -> None:
    server = local("rules: [{when: {images: 1}, then: {text: ' seen'}}, {then: {text: ' blind'}}]")
    body = {"model": "m", "prompt": ["a", "b"], "images": [["data:image/png;base64,AA=="], []], "raw_output": True}
    choices = server.ask("/fireworks/v1/completions", body).json["choices"]
    assert [choice["text"] for choice in choices] == [" seen", " blind"]
    assert [choice["raw_output"]["images"] for choice in choices] == [["data:image/png;base64,AA=="], None]
