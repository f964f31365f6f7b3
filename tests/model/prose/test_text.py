"""Text that is seeded, and as long as it should be."""

import re
from itertools import islice
from typing import Any

import pytest

from mockserver.core.call import Call, Message, Prompt
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure, Text
from mockserver.core.seed import Seed
from mockserver.core.tokens import count
from mockserver.model.prose import (
    Speaker,
    Topic,
    echo,
    find_topic,
    make_reasoning,
    parse_sentence,
    read_topic,
    spend_reasoning,
    write_lorem,
    write_markdown,
    write_prose,
    write_sentences,
    write_words,
)
from mockserver.model.vocabulary import read_english, read_languages, read_word_lists
from tests.kit.calls import pack_options

SENTENCES = re.compile(r"(?:[A-Z][\w,;:?' ]*[.?](?: |\n\n|$))+")
TEA = (Message("user", "Tell me about green tea"),)


def call(**more: Any) -> Call:
    return Call("openai", "chat", "m", HttpRequest("POST", "/"), 0, **pack_options(more))


def written(generator: Any, options: dict[str, Any] | None = None, seed: int = 0, **more: Any) -> str:
    (part,) = generator(call(**more), Seed(seed).branch("test"), options or {}).parts
    assert isinstance(part, Text)
    return part.text


LATIN = (
    "Repellendus praesentium amet mollitia natus rerum voluptas, perspiciatis corrupti numquam aliquid eius nostrum "
    "laudantium."
)


def test_pinned_texts() -> None:
    assert written(write_prose, {"tokens": 1}) == "I see. Here timing is a good place to begin."
    assert written(write_prose, {"tokens": 1}, messages=TEA) == "When it comes to green tea, timing matters most."
    assert written(write_lorem, {"tokens": 1}) == LATIN
    assert written(write_words, {"tokens": 4}) == "season style political drug"


@pytest.mark.parametrize("generator", [write_prose, write_lorem])
def test_it_is_made_of_sentences(generator: Any) -> None:
    for seed in range(20):
        assert SENTENCES.fullmatch(written(generator, {"tokens": 300}, seed))


def test_natural_length() -> None:
    lengths = [count(written(write_prose, seed=seed)) for seed in range(200)]
    assert 20 <= min(lengths) < 30
    assert 70 < max(lengths) < 110


def test_what_is_asked_of_a_length() -> None:
    def usual(**more: Any) -> float:
        return sum(count(written(write_prose, seed=seed, messages=TEA, **more)) for seed in range(50)) / 50

    assert usual(verbosity="low") < 0.8 * usual() < usual() < 0.7 * usual(verbosity="high")
    assert usual(effort="minimal") < usual() < usual(effort="high")
    assert usual(max_tokens=4000) == usual()


def test_it_is_about_the_subject() -> None:
    for seed in range(20):
        assert "green tea" in written(write_prose, seed=seed, messages=TEA).lower()
        german = (Message("user", "Erzähl mir etwas über grünen Tee"),)
        assert "“grünen Tee”" in written(write_prose, seed=seed, messages=german)


def test_a_language_may_be_ordered() -> None:
    told = (Message("system", "Answer in German."), *TEA)
    assert "“green tea”" in written(write_prose, messages=told)
    assert call(messages=told).system == "Answer in German."
    assert find_topic(call(messages=told)).language == "de"


def test_a_prompt_that_is_no_order_is_gone_on_from() -> None:
    begun = Prompt("Once upon a time", ("Once", " upon", " a", " time"))
    for seed in range(10):
        text = written(write_prose, seed=seed, prompts=(begun,))
        assert text.startswith(" ")
        assert "a time" not in text
        assert text[1].islower()
    ended = Prompt("The sea is wide. ", ("The", " sea", " is", " wide", ". "))
    assert written(write_prose, prompts=(ended,))[0].isupper()


@pytest.mark.parametrize("tokens", [1, 40, 500, 3000])
@pytest.mark.parametrize("generator", [write_prose, write_lorem, write_words])
def test_a_length_is_reached_within_a_sentence(generator: Any, tokens: int) -> None:
    longest = 5 if generator is write_words else 60
    assert tokens <= count(written(generator, {"tokens": tokens})) < tokens + longest


def test_the_request_s_limit_is_kept_where_a_sentence_fits() -> None:
    for seed in range(50):
        text = written(write_prose, seed=seed, max_tokens=30)
        assert SENTENCES.fullmatch(text)
        assert count(text) <= 30
    assert SENTENCES.fullmatch(written(write_prose, max_tokens=1))
    assert count(written(write_prose, {"tokens": 50}, max_tokens=10)) >= 50


@pytest.mark.parametrize("tokens", [0, -1, 1.5, True, "many", None, 10**9])
def test_a_length_that_cannot_be(tokens: Any) -> None:
    with pytest.raises(Failure, match=re.escape(f"generate: tokens must be a number from 1 to 100000, not {tokens!r}")):
        written(write_prose, {"tokens": tokens})


def test_echo() -> None:
    assert written(echo, messages=(Message("user", "Hi"), Message("assistant", "Yes?"))) == "Hi"
    assert written(echo) == ""


def test_markdown_has_everything() -> None:
    text = written(write_markdown, {"tokens": 300}, messages=TEA)
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
def test_markdown_is_about_as_long_as_asked(tokens: int) -> None:
    assert tokens <= count(written(write_markdown, {"tokens": tokens}, messages=TEA)) < tokens + 100


def test_markdown_without_a_length_or_a_subject() -> None:
    assert 200 <= count(written(write_markdown)) < 300
    assert written(write_markdown).startswith("# A short document\n")


SEED = Seed(3)


@pytest.mark.parametrize("effort", [None, "none", "minimal"])
def test_nobody_thinks_unasked(effort: str | None) -> None:
    assert make_reasoning(call(messages=TEA, effort=effort), SEED) == ()


def test_the_harder_the_longer() -> None:
    lengths = [
        count(thought.text)
        for effort in ("low", "medium", "high", "xhigh", "max")
        for thought in make_reasoning(call(messages=TEA, effort=effort), SEED)
    ]
    assert len(lengths) == 5
    assert lengths == sorted(set(lengths))


def test_an_unknown_effort_is_a_medium_one() -> None:
    assert make_reasoning(call(messages=TEA, effort="heroic"), SEED) == make_reasoning(
        call(messages=TEA, effort="medium"), SEED
    )


@pytest.mark.parametrize("most", [1, 2, 7, 20, 100])
def test_thoughts_take_half_of_the_tokens_at_the_most(most: int) -> None:
    found = make_reasoning(call(messages=TEA, effort="high", max_tokens=most), SEED)
    assert sum(count(thought.text) for thought in found) <= most // 2
    assert bool(found) == (most > 1)
    left = spend_reasoning(call(messages=TEA, effort="high", max_tokens=most), found).options.max_tokens
    assert left is not None
    assert left >= most / 2


def test_without_a_limit_nothing_changes() -> None:
    asked = call(messages=TEA, effort="high")
    assert spend_reasoning(asked, make_reasoning(asked, SEED)) is asked
    limited = call(messages=TEA, max_tokens=5)
    assert spend_reasoning(limited, ()) is limited


def said(text: str, number: int, seed: int = 0) -> list[str]:
    return list(islice(write_sentences(read_topic(text), Seed(seed).stream("test")), number))


@pytest.mark.parametrize("kind", sorted(read_word_lists("english")["openers"]))
def test_every_sentence_can_be_said(kind: str) -> None:
    speaker = Speaker(Topic("x", "en", kind, "boats", "row", "why do boats float", ("boats",)), Seed(0).stream(kind))
    for sentence in (*read_english(kind, "openers"), *read_english("middles"), *read_english("thoughts")):
        for _ in range(10):
            made, tokens = next(speaker.speak(parse_sentence(sentence)))
            assert "%" not in made
            assert made[0].isupper()
            assert tokens == count(made) == count(f" {made}")


def test_each_aspect_is_one_token() -> None:
    assert {count(f"of {aspect} and") for aspect in read_english("aspects")} == {3}


@pytest.mark.parametrize(
    "subject", ["two  blanks", "a line\nand another", "tabs\tand C++", " at its edge", "東京 tower"]
)
def test_the_tokens_of_sentences_are_those_of_the_whole(subject: str) -> None:
    speaker = Speaker(Topic("x", "en", "tell", subject, words=(subject,)), Seed(0).stream(subject))
    for text, tokens in islice(speaker.write_sentences(), 40):
        assert tokens in (0, count(text))


@pytest.mark.parametrize("code", sorted(set(read_languages()) - {"en"}))
def test_every_language_speaks(code: str) -> None:
    made = list(islice(write_sentences(Topic("x", code, "tell", "Rome"), Seed(0).stream(code)), 30))
    assert "“Rome”" in made[0]
    assert len(set(made)) == 30
    assert all(sentence.endswith(read_languages()[code].get("full_stop", ".")) for sentence in made)


def test_the_first_sentence_answers_the_question() -> None:
    for seed in range(10):
        assert "the capital of France" in said("What is the capital of France?", 1, seed)[0]
        assert "install numpy" in said("How do I install numpy?", 1, seed)[0]
        assert said("Why is the sky blue?", 1, seed)[0].startswith("Why is the sky blue?")
        assert said("Is Python fast?", 1, seed)[0].startswith(("Yes", "No"))


def test_no_sentence_comes_back_before_all_were_said() -> None:
    made = said("Tell me about tea", 1 + len(read_english("middles")))[1:]
    assert len(set(made)) == len(made)


def test_an_empty_topic_leaves_no_gap() -> None:
    assert not any("{" in sentence or "  " in sentence for sentence in said("", 60))
