"""What a request asks for holds for every draft."""

import re
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Message, Prompt, ToolCall
from mockserver.core.draft import AFTER_LAST_TOKEN, ArtifactDraft, Draft, DraftChoice
from mockserver.core.http import HttpRequest
from mockserver.core.plan import (
    Answer,
    Broken,
    Item,
    Part,
    Reasoning,
    Refusal,
    Text,
    ToolUse,
    Usage,
    Verdict,
)
from mockserver.core.seed import Seed, WallClock
from mockserver.core.tokens import APPROX, split
from mockserver.engine.answer import Author, answer, finish_artifact, split_prompts, use_tokenizer
from mockserver.kinds.embeddings import Embeddings, embed
from mockserver.kinds.moderations import Moderations, judge
from mockserver.tokenizers import find_tokenizer
from tests.kit.calls import call, pack_options
from tests.kit.local import Answered, Local, local

AUTHOR = Author(Seed(7), WallClock())
STORY = "One two three four five six."
USE = ToolUse(ToolCall("", "look", '{"at":"the stars"}'))


def chat(**more: Any) -> Call:
    http = HttpRequest("POST", "/v1/chat/completions")
    return Call("openai", "chat", "m", http, meaning=["x"], messages=(Message("user", "Hi"),), **pack_options(more))


def draft(*parts: Part, **more: Any) -> Draft:
    return Draft((DraftChoice(parts, **more),))


def one(asked: Call, given: Draft) -> tuple[tuple[Part, ...], str]:
    choice = answer(asked, given, AUTHOR).choices[0]
    return tuple(
        [replace(part, tokens=None) if hasattr(part, "tokens") else part for part in choice.parts]
    ), choice.finish


@pytest.mark.parametrize(
    ("asked", "given", "parts", "finish"),
    [
        ({}, draft(Text(STORY)), (Text(STORY),), "stop"),
        ({}, draft(Refusal("No.")), (Refusal("No."),), "stop"),
        ({}, draft(Text(STORY), finish="length"), (Text(STORY),), "length"),
        ({"stop": ("four", "three")}, draft(Text(STORY)), (Text("One two "),), "stop"),
        ({"stop": ("none",)}, draft(Text(STORY)), (Text(STORY),), "stop"),
        ({"stop": ("One",)}, draft(Text(STORY), USE), (Text(""),), "stop"),
        ({"stop": ("two",)}, draft(Text("One t"), USE, Text("wo three")), (Text("One "),), "stop"),
        ({"stop": ("e t",)}, draft(Text("One "), Reasoning("Hm"), Text("two")), (Text("On"),), "stop"),
        (
            {"stop": ("o",)},
            draft(Text("One"), Reasoning("Hm"), Text("two")),
            (Text("One"), Reasoning("Hm"), Text("tw")),
            "stop",
        ),
        ({"max_tokens": 2}, draft(Text("One two"), USE), (Text("One two"),), "length"),
        ({"max_tokens": 3}, draft(Text(STORY)), (Text("One two three"),), "length"),
        ({"max_tokens": 7}, draft(Text(STORY)), (Text(STORY),), "stop"),
        ({"max_tokens": 0}, draft(Text(STORY)), (Text(""),), "length"),
        ({"max_tokens": 3}, draft(Reasoning("Hm, let me think"), Text(STORY)), (Reasoning("Hm, let"),), "length"),
        ({"max_tokens": 3}, draft(Text(STORY), finish="stop"), (Text("One two three"),), "stop"),
        ({}, draft(Text(STORY), filter_after=2), (Text("One two"),), "content_filter"),
        ({"max_tokens": 1}, draft(Text(STORY), filter_after=2), (Text("One"),), "length"),
    ],
)
def test_limits(asked: dict[str, Any], given: Draft, parts: tuple[Part, ...], finish: str) -> None:
    assert one(chat(**asked), given) == (parts, finish)


FILTERED = (Verdict("violence", "high", filtered=True), Verdict("hate", "low"))


@pytest.mark.parametrize(
    ("asked", "after", "finish", "seen"),
    [
        ({}, 2, "content_filter", FILTERED),
        ({}, AFTER_LAST_TOKEN, "content_filter", FILTERED),
        ({"max_tokens": 2}, 2, "content_filter", FILTERED),
        ({"max_tokens": 1}, 2, "length", FILTERED[1:]),
        ({"max_tokens": 1}, AFTER_LAST_TOKEN, "length", FILTERED[1:]),
        ({"max_tokens": 99}, AFTER_LAST_TOKEN, "content_filter", FILTERED),
        ({"stop": ("two",)}, 2, "stop", FILTERED[1:]),
        ({"stop": ("two",)}, AFTER_LAST_TOKEN, "stop", FILTERED[1:]),
        ({"stop": ("five",)}, 2, "content_filter", FILTERED),
    ],
)
def test_a_filter_trips_unless_the_answer_is_over_by_then(
    asked: dict[str, Any], after: int, finish: str, seen: tuple[Verdict, ...]
) -> None:
    given = draft(Text(STORY), safety=FILTERED, filter_after=after)
    choice = answer(chat(**asked), given, AUTHOR).choices[0]
    assert (choice.finish, choice.safety) == (finish, seen)


def test_exact_pieces_are_cut_with_the_text() -> None:
    given = draft(Text(STORY, chunks=("One tw", "o thr", "ee four five six.")))
    assert one(chat(max_tokens=3), given) == ((Text("One two three", chunks=("One tw", "o thr", "ee")),), "length")


def test_tool_calls_get_ids_that_follow_from_the_call() -> None:
    parts, finish = one(chat(), draft(USE, USE))
    again, _ = one(chat(), draft(USE, USE))
    ids = [part.call.id for part in parts if isinstance(part, ToolUse)]
    assert finish == "tool_calls"
    assert parts == again
    assert len(set(ids)) == 2
    assert all(len(name) == len("call_") + 24 and name.startswith("call_") for name in ids)


def test_an_id_that_a_rule_gives_stays() -> None:
    parts, _ = one(chat(), draft(ToolUse(ToolCall("mine", "look", "{}"))))
    assert parts == (ToolUse(ToolCall("mine", "look", "{}")),)


def test_items_get_the_ids_that_their_author_left_open() -> None:
    computer, code = Item("computer_call", {"call_id": ""}), Item("code_interpreter_call", {"container_id": ""})
    kept = Item("local_shell_call", {"call_id": "mine"}), Item("shell_call_output", {"call_id": ""})
    parts, finish = one(chat(), draft(computer, code, *kept))
    first, second, *others = parts
    assert isinstance(first, Item)
    assert isinstance(second, Item)
    assert re.fullmatch("call_[A-Za-z0-9]{24}", first.body["call_id"])
    assert re.fullmatch("cntr_[A-Za-z0-9]{48}", second.body["container_id"])
    assert others == list(kept)
    assert finish == "stop"
    assert one(chat(), draft(computer, code, *kept))[0] == parts


def test_an_answer_that_breaks_off_says_why() -> None:
    broken = Broken("server_error", "Sorry", event=True)
    made = answer(chat(), Draft((DraftChoice((Text("One"),)),), broken=broken), AUTHOR)
    assert (made.broken, made.choices[0].parts) == (broken, (Text("One"),))
    assert answer(chat(), draft(Text("One")), AUTHOR).broken is None


@pytest.mark.parametrize(("most", "left"), [(None, 2), (2, 2), (1, 1), (0, 0), (-1, 0)])
def test_as_many_uses_of_the_providers_tools_as_are_allowed(most: int | None, left: int) -> None:
    search = Item("web_search_call", {"action": {}})
    parts, _ = one(chat(max_tool_calls=most), draft(search, search, Text("So."), USE))
    assert parts[left:] == (Text("So."), parts[-1])


def test_without_parallel_tool_calls_one_call_remains() -> None:
    parts, _ = one(chat(parallel_tool_calls=False), draft(Text("So:"), USE, USE))
    assert [type(part) for part in parts] == [Text, ToolUse]


def test_functions_of_the_time_before_tools_are_called_one_at_a_time() -> None:
    parts, finish = one(chat(parallel_tool_calls=False, bare_functions=True), draft(USE, USE))
    assert [part.call.kind for part in parts if isinstance(part, ToolUse)] == ["bare"]
    assert finish == "function_call"


def test_tool_arguments_count_and_are_cut() -> None:
    parts, finish = one(chat(max_tokens=2), draft(USE))
    assert finish == "length"
    assert isinstance(parts[0], ToolUse)
    assert parts[0].call.arguments == "".join(split(USE.call.arguments)[:2])


def test_n_repeats_the_last_choice() -> None:
    given = Draft((DraftChoice((Text("a"),)), DraftChoice((Text("b"),))))
    assert [c.parts for c in answer(chat(n=3), given, AUTHOR).choices] == [
        (Text("a"),),
        (Text("b"),),
        (Text("b"),),
    ]


def test_usage_is_counted_over_all_choices() -> None:
    made = answer(chat(n=2), draft(Reasoning("Hm"), Text("One two")), AUTHOR)
    assert made.usage == Usage(prompt=chat().prompt_tokens, completion=6, reasoning=2, cached=0)
    assert made.usage.total == made.usage.prompt + 6


def test_a_count_that_is_known_is_for_answers_counted_the_same_way() -> None:
    given = Draft((DraftChoice((Text(STORY),), tokens=40), DraftChoice((Text(STORY),), tokens=2)))
    asked, limited = chat(n=2), chat(n=2, max_tokens=41)
    assert answer(asked, given, AUTHOR).usage.completion == 42
    assert answer(limited, given, AUTHOR).usage.completion == 2 * len(split(STORY))
    assert answer(chat(n=3), given, AUTHOR).usage.completion == 44  # the last repeats
    exact = use_tokenizer(asked, find_tokenizer("o200k_base"))
    assert answer(exact, given, AUTHOR).usage.completion == 2 * find_tokenizer("o200k_base").count(STORY)


def test_usage_that_a_rule_states_wins() -> None:
    given = Draft((DraftChoice((Text("One two"),)),), usage={"prompt": 100, "cached": 64})
    assert answer(chat(), given, AUTHOR).usage == Usage(prompt=100, completion=2, reasoning=0, cached=64)


def made(seed: int = 7, mark: str = "", at: int | None = 5) -> Answer:
    return answer(chat(), draft(Text("x")), Author(Seed(seed), WallClock(at)), mark)


def test_identity_follows_from_seed_call_and_mark() -> None:
    assert made() == made()
    assert len({made().id, made(seed=8).id, made(mark="1").id}) == 3
    assert made().created == 5
    assert made().model == "m"
    assert len(made().system_fingerprint) == 10


def test_a_rule_may_name_the_model_and_what_the_filters_saw() -> None:
    safety = (Verdict("hate", "low"),)
    given = Draft((DraftChoice((Text("x"),), safety=safety),), model="routed", prompt_safety=safety)
    result = answer(chat(), given, AUTHOR)
    assert (result.model, result.prompt_safety, result.choices[0].safety) == ("routed", safety, safety)


def test_log_probabilities_follow_the_tokens_of_the_text() -> None:
    choice = answer(chat(logprobs=2, max_tokens=4), draft(Text(STORY)), AUTHOR).choices[0]
    assert choice.logprobs is not None
    assert "".join(entry.token for entry in choice.logprobs) == "One two three four"
    assert all(len(entry.top) == 2 for entry in choice.logprobs)


def test_log_probabilities_of_a_rule_come_first() -> None:
    choice = answer(chat(), draft(Text(STORY), logprobs=(-0.5, -1.5)), AUTHOR).choices[0]
    assert choice.logprobs is not None
    assert [entry.logprob for entry in choice.logprobs[:2]] == [-0.5, -1.5]
    assert len(choice.logprobs) == len(split(STORY))


def test_log_probabilities_of_each_text_by_itself() -> None:
    choice = answer(chat(logprobs=0), draft(Text("over"), Text("look")), AUTHOR).choices[0]
    assert choice.logprobs is not None
    assert [entry.token for entry in choice.logprobs] == ["over", "look"]


def test_none_are_given_unless_asked_for() -> None:
    assert answer(chat(), draft(Text(STORY)), AUTHOR).choices[0].logprobs is None


TEXTS = """
rules:
  - {name: first, when: {last_user: One}, then: {text: " first", logprobs: [-0.1]}}
  - {name: busy, when: {last_user: Busy}, then: {error: 429}}
"""


def completed(server: Local, prompt: object, **more: object) -> Answered:
    return server.ask("/v1/completions", {"model": "m", "prompt": prompt, **more})


def test_a_text_that_never_ends_is_cut() -> None:
    asked = {"model": "m", "prompt": "Two", "ignore_eos": True}
    server = local(TEXTS)
    for more, tokens in (({}, 2048), ({"max_tokens": 300}, 300)):
        answered = server.ask("/fireworks/v1/completions", {**asked, **more})
        assert answered.json["choices"][0]["finish_reason"] == "length"
        assert answered.json["usage"]["completion_tokens"] == tokens
    answered = server.ask("/fireworks/v1/completions", {**asked, "prompt": "One", "max_tokens": 300})
    assert (answered.json["choices"][0]["text"], answered.json["choices"][0]["finish_reason"]) == (" first", "stop")


def test_the_usual_limit_of_a_provider_is_not_for_rules() -> None:
    long = " a" * 40
    server = local(f"rules: [{{when: {{last_user: One}}, then: {{text: {long!r}}}}}]")
    assert completed(server, "One").json["usage"]["completion_tokens"] == 40
    assert max(completed(server, f"Two {n}").json["usage"]["completion_tokens"] for n in range(30)) <= 16


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
    one, other = split_prompts(several(Prompt("One"), Prompt("Two")))
    assert (one.meaning, one.last_user, one.prompts) == ({"prompt": "One"}, "One", (Prompt("One"),))
    assert (other.meaning, other.last_user, other.prompts) == ({"prompt": "Two"}, "Two", (Prompt("Two"),))


def test_numbers_read_as_the_tokenizer_knows_them() -> None:
    asked = several(Prompt("<|15339|><|1917|>", (15339, 1917)))
    assert use_tokenizer(asked, APPROX) is asked
    read = use_tokenizer(asked, find_tokenizer("cl100k_base"))
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


ARTIFACT_AUTHOR = Author(Seed(), WallClock())
EMBEDDINGS, MODERATIONS = "/v1/embeddings", "/v1/moderations"


def asked(operation: str, **fields: object) -> Call:
    prompt = Prompt("a sea")
    return call("a sea", operation=operation, prompts=(prompt,), ids=IdShape("modr-", 32, "hex"), **fields)


def test_a_vector_for_a_prompt() -> None:
    made = finish_artifact(asked("embeddings"), ArtifactDraft(), ARTIFACT_AUTHOR)
    assert made == Embeddings("gpt-4o", (embed("a sea", 1536, Seed()),), 2)
    made = finish_artifact(asked("embeddings", dimensions=3), ArtifactDraft(), ARTIFACT_AUTHOR)
    assert made == Embeddings("gpt-4o", (embed("a sea", 3, Seed()),), 2)


def test_a_vector_that_is_stated() -> None:
    stated = ArtifactDraft((0.5, 1.0), "m", {"prompt": 7}, (("a", "b"),))
    assert finish_artifact(asked("embeddings"), stated, ARTIFACT_AUTHOR) == Embeddings(
        "m", ((0.5, 1.0),), 7, (("a", "b"),)
    )


def test_a_moderation_of_a_prompt() -> None:
    made = finish_artifact(
        asked("moderations"), ArtifactDraft({"hate": 0.7}, "m", headers=(("a", "b"),)), ARTIFACT_AUTHOR
    )
    assert isinstance(made, Moderations)
    assert (made.model, made.headers) == ("m", (("a", "b"),))
    assert made.results == (judge("a sea", {"hate": 0.7}, Seed()),)
    assert made.id.startswith("modr-")
    assert len(made.id) == 37


RULES = """
rules:
  - name: stated
    when: {last_user: "*stated*"}
    then: {embedding: [0.6, 0.8]}
  - name: bad
    when: {last_user: "*bad*"}
    then: {moderation: {violence: 0.9}}
  - name: busy
    when: {last_user: "*busy*", operation: [embeddings, moderations]}
    then: {error: 429}
  - name: odd
    when: {last_user: "*odd*", path: "*"}
    then: {text: a}
"""


def test_each_input_gets_what_it_would_get_alone() -> None:
    server = local(RULES)
    several = server.ask(EMBEDDINGS, {"model": "m", "input": ["x", "stated", "y z"], "dimensions": 4})
    alone = [
        server.ask(EMBEDDINGS, {"model": "m", "input": text, "dimensions": 4}).json for text in ("x", "stated", "y z")
    ]
    assert [entry["embedding"] for entry in several.json["data"]] == [one["data"][0]["embedding"] for one in alone]
    assert several.json["usage"]["prompt_tokens"] == sum(one["usage"]["prompt_tokens"] for one in alone)
    assert several.source.startswith("generated, rule ")


def test_results_of_a_moderation_stand_in_order() -> None:
    flags = local(RULES).ask(MODERATIONS, {"input": ["x", "bad", "y"]}).json["results"]
    assert [result["flagged"] for result in flags] == [False, True, False]


@pytest.mark.parametrize(("path", "name"), [(EMBEDDINGS, "embeddings"), (MODERATIONS, "moderations")])
def test_an_answer_of_another_kind_is_an_error_that_names_the_rule(path: str, name: str) -> None:
    answered = local(RULES).ask(path, {"model": "m", "input": "odd"})
    assert answered.status == 500
    message = answered.json["error"]["message"]
    assert message.endswith(
        f'rules.yaml:12 odd: this rule answers with text, which cannot answer the operation "{name}"'
    )
