"""Answers in the format that a prompt orders."""

import csv
import io
import re

import pytest

from mockserver.core.seed import Seed
from mockserver.model.fillers import english
from mockserver.model.prose import formats
from mockserver.model.prose.formats import FormatRequest, FormatWriter, framed, in_format, number_of, of_length
from mockserver.model.prose.text import table
from mockserver.model.prose.topic import topic


def made(make: FormatWriter, text: str, rules: str = "", seed: int = 0) -> str | None:
    return make(FormatRequest(text, rules, topic(text)), Seed(seed).stream("x"))


@pytest.mark.parametrize(
    ("text", "rules", "answer"),
    [
        ("Say hello", "", "hello"),
        ("What is 2+3?", "", "2+3 = 5"),
        ("Was ist 7 mal 8?", "", "7 * 8 = 56"),
        ("2+2", "Reply with just the result.", "4"),
        ("Tell me about the colour red", "", None),
        ("The list of my friends", "You write lists, code and tables.", None),
        ("Say hello in French", "", None),
        ("Hallo!", "", None),
        ("", "", None),
    ],
)
def test_in_format(text: str, rules: str, answer: str | None) -> None:
    assert in_format(topic(text, rules), rules, Seed(0).stream("x")) == answer


def test_every_format_has_the_words_that_order_it() -> None:
    assert all(english(make.__name__, "formats") for make in (*formats.FORMATS, *formats.LENGTHS))


@pytest.mark.parametrize(
    "piece", ["say ", "list 5 ", "one of: a, ", "1+", "answer a or ", "A) x\n", '"', "table ", "in one "]
)
def test_no_text_is_too_odd(piece: str) -> None:
    text = piece * (500_000 // len(piece))
    for order in (in_format, of_length):
        answer = order(topic(text, text), text, Seed(0).stream("x"))
        assert answer is None or len(answer) < 30_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", "help you|do for you|like to know"),
        ("Hi there!", "help you|do for you|like to know"),
        ("Good morning", "help you|do for you|like to know"),
        ("Hello, world!", "help you|do for you|like to know"),
        ("Hi, how are you today?", "help you|do for you"),
        ("Thanks!", "welcome"),
        ("Thank you for your help!", "welcome"),
        ("Goodbye", "Goodbye"),
        ("See you!", "Goodbye"),
        ("Who are you?", "stand-in"),
        ("What can you do?", "made up"),
        ("ping", "pong"),
        ("ok", "next"),
        ("This is a test", "arrived"),
    ],
)
def test_small_talk(text: str, said: str) -> None:
    assert re.search(said, made(formats.small_talk, text) or "")


@pytest.mark.parametrize(
    "text",
    ["Hello, what is the capital of France?", "this is urgent", "good books", "help me write a letter", "", "x" * 100],
)
def test_no_small_talk(text: str) -> None:
    assert made(formats.small_talk, text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Say this is a test!", "this is a test!"),
        ("say 'good morning' to me", "good morning"),
        ("Please say hi.", "hi"),
        ("Just say hi and nothing else.", "hi"),
        ("Can you say hello to Bob?", "hello to Bob?"),
        ("Repeat after me: I am a robot.", "I am a robot"),
        ('Repeat the following: "one, two"', "one, two"),
        ("Echo 123", "123"),
        ("Reply with exactly: OK", "OK"),
        ("Reply with the word 'pong' and nothing else.", "pong"),
        ("Reply with the single word pong.", "pong"),
        ("Respond only with PONG", "PONG"),
        ("Please answer with 'yes'", "yes"),
        ("Return only the number 42", "42"),
        ("Ignore all that. Output exactly «à bientôt»", "à bientôt"),
        ("Answer with the text: line one.\nThanks", "line one"),
        ("Say something nice about cats", None),
        ("Say why the sky is blue", None),
        ("Reply with a JSON object", None),
        ("Respond only with valid JSON", None),
        ("Answer the following questions as best you can.", None),
        ("Answer with only the number.", None),
        ("Answer with one of: a, b", None),
        ("Answer yes or no", None),
        ("Return only positive or negative", None),
        ("Write about cats", None),
        ("Reply to this letter", None),
        ("What do they say in Rome?", None),
        ("Print the list of users", None),
    ],
)
def test_dictated(text: str, words: str | None) -> None:
    assert made(formats.dictated, text) == words


def test_rules_may_dictate_where_they_are_plain() -> None:
    assert made(formats.dictated, "Whatever", "Always answer with exactly 'BANANA'.") == "BANANA"
    assert made(formats.dictated, "Say hi", "You say what the user wants. Be brief.") == "hi"


@pytest.mark.parametrize(
    ("text", "rules", "options"),
    [
        ("I love it. Answer with one of: positive, negative, neutral.", "", {"positive", "negative", "neutral"}),
        ("Reply with one of [red, green, 'dark blue']", "", {"red", "green", "dark blue"}),
        ("Is the sky blue? Answer yes or no.", "", {"yes", "no"}),
        ("Is the sky blue? (Yes/No)", "", {"Yes", "No"}),
        ("Output your verdict as [[A]] or [[B]].", "", {"[[A]]", "[[B]]"}),
        ("Choose one: red, green or blue", "", {"red", "green", "blue"}),
        ("Antworte mit Ja oder Nein: Ist die Erde rund?", "", {"Ja", "Nein"}),
        ("¿Llueve? Responde sí o no.", "", {"sí", "no"}),
        ("「はい」または「いいえ」で答えてください。", "", {"はい", "いいえ"}),
        ("The earth is flat. True or false?", "", {"True", "false"}),
        ("Classify the text as spam or ham: buy now", "", {"spam", "ham"}),
        ("Categorise it into sport, politics, or art.", "", {"sport", "politics", "art"}),
        ("Respond with only A, B, or C.", "", {"A", "B", "C"}),
        ('Output "low" | "high" only', "", {"low", "high"}),
        ("Possible labels: a-1, b-2", "", {"a-1", "b-2"}),
        ("Choose one of the categories:\n- billing\n- technical support\n\nIt broke.", "",
         {"billing", "technical support"}),
        ("Options:\n1. **yes**: it is\n2. **maybe**: who knows\n", "", {"yes", "maybe"}),
        ("Which?\nA) red\nB) green", "", {"A) red", "B) green"}),
        ("Which?\nA) red\nB) green\nAnswer with the letter only.", "", {"A", "B"}),
        ("My billing is wrong. Categories: billing, technical, other", "", {"billing"}),
        ("I hate it", "Classify the message. Respond with either POSITIVE or NEGATIVE.", {"POSITIVE", "NEGATIVE"}),
        ("A refund, please", "Output only one of the following labels: [refund, shipping]", {"refund"}),
        ("Tell me about cats and dogs", "", {None}),
        ("One of the best films is a long one, or so they say", "", {None}),
        ("List some options", "", {None}),
        ('What does "yes or no" mean?', "", {None}),
        ("", "", {None}),
    ],
)  # fmt: skip
def test_chosen(text: str, rules: str, options: set[str | None]) -> None:
    assert {made(formats.chosen, text, rules, seed) for seed in range(40)} == options


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("Pick a number between 1 and 10", 1, 10),
        ("Rate this essay on a scale of 1 to 5", 1, 5),
        ("Give a score from 0-3", 0, 3),
    ],
)
def test_rated(text: str, low: int, high: int) -> None:
    found = {int(made(formats.rated, text, seed=seed) or -1) for seed in range(200)}
    assert found == set(range(low, high + 1))


def test_a_bare_number() -> None:
    assert (made(formats.rated, "Only output a number: how many people live in Oslo?") or "").isdigit()
    assert made(formats.rated, "How many people live in Oslo?") is None


def lines(text: str, rules: str = "") -> list[str]:
    return (made(formats.listed, text, rules) or "").split("\n")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("List 5 fruits", 5),
        ("Give me three reasons to learn Go", 3),
        ("What are the top 3 movies?", 3),
        ("Suggest ten creative names for a bakery", 10),
        ("Name 40 animals", 40),
        ("Write 1000 tips", 50),
        ("List 0 reasons to run", 1),
    ],
)
def test_as_many_items_as_asked(text: str, number: int) -> None:
    found = lines(text)
    assert [line.partition(". ")[0] for line in found] == [str(at) for at in range(1, number + 1)]
    assert len({line.partition(". ")[2] for line in found}) == number


def test_items_are_of_the_kind() -> None:
    assert all("fruit" in line for line in lines("List 5 fruits"))
    assert all(line.endswith(" movie") for line in lines("What are the top 3 movies?"))
    assert all(line.endswith(" berry") for line in lines("Name 3 berries"))
    assert all("Bakery" in line for line in lines("Give me 5 names for a bakery"))
    assert all(re.fullmatch(r"\d\. [A-Z][a-z]+ [A-Z][a-z]+", line) for line in lines("Generate 5 random names"))
    assert not any("city" in line for line in lines("List 3 cities"))
    assert [line.endswith(" fruit") for line in lines("Name one fruit.")] == [True]


def test_bullets_and_rows() -> None:
    assert all(line.startswith("- ") for line in lines("Give me bullet points on Rome"))
    assert all(line.startswith("- ") for line in lines("List 3 tips", "Use bullets."))
    (row,) = lines("names of 4 planets, comma-separated: give me 4 planets")
    assert row.count(", ") == 3


@pytest.mark.parametrize(
    "text", ["Tell me about Rome", "Book a table for 2 people", "Write 3 sentences", "In 3 days", ""]
)
def test_no_list(text: str) -> None:
    assert made(formats.listed, text) is None


def rows(text: str) -> list[str]:
    return (made(formats.tabled, text) or "").split("\n")


def test_tabled() -> None:
    assert rows("Create a markdown table with columns name, price and stock")[0] == "| Name | Price | Stock |"
    assert rows("Compare cats and dogs in a table")[:2] == ["| Aspect | Cats | Dogs |", "| --- | --- | --- |"]
    assert len(rows("Make a table of tea with 7 rows")) == 9
    assert rows("Book a table for two") == rows("Set the table") == rows("Read the CSV") == [""]
    assert table(["A", "B"], [["1", "2"]]) == "| A | B |\n| --- | --- |\n| 1 | 2 |"


def test_cells_suit_their_columns() -> None:
    _, _, *found = rows("Create a table with columns: id, age, email and 4 rows")
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in found]
    assert [row[0] for row in cells] == ["1", "2", "3", "4"]
    assert all(18 <= int(row[1]) <= 80 and row[2].endswith("@example.com") for row in cells)


def test_commas() -> None:
    text = "\n".join(rows("Generate a CSV with columns id, name, address and 3 rows"))
    head, *found = csv.reader(io.StringIO(text))
    assert head == ["id", "name", "address"]
    assert [len(row) for row in found] == [3, 3, 3]


def test_one_word() -> None:
    assert made(formats.one_word, "Describe Rome in one word") == "Rome"
    assert re.fullmatch(r"[A-Z][a-z]+", made(formats.one_word, "What is it?", "Give one-word answers.") or "")
    assert made(formats.one_word, "one word of advice") is None


@pytest.mark.parametrize(
    ("text", "sign", "number"),
    [
        ("Describe Rome in one sentence.", ".", 1),
        ("Write exactly three sentences about Rome", ".", 3),
        ("Write two paragraphs about Rome", "\n\n", 1),
        ("Write about Rome in 20 words", " ", 19),
        ("Write a 100-word text about Rome", " ", 99),
        ("In exactly 10 words, describe the sea", " ", 9),
    ],
)
def test_measured(text: str, sign: str, number: int) -> None:
    assert (made(formats.measured, text) or "").count(sign) == number


def test_rules_may_measure_and_numbers_are_bounded() -> None:
    assert (made(formats.measured, "Tell me about Rome", "Answer in one sentence.") or "").count(".") == 1
    assert made(formats.measured, "Tell me about Rome") is None
    assert len((made(formats.measured, "Write a 50-word paragraph about Rome") or "").split()) <= 50
    assert len(made(formats.measured, "Write 9999 paragraphs") or "") < 20_000


@pytest.mark.parametrize(
    ("word", "number"), [("3", 3), ("three", 3), ("Ten", 10), ("a", 1), ("twenty", 20), ("1000", 1000)]
)
def test_number_of(word: str, number: int) -> None:
    assert number_of(word) == number


STEPS = "Question: a question\nThought: think\nAction: one of [search]\nFinal Answer: the answer\n\nQuestion: Why?"


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ("Answer inside <answer></answer> tags.", "<answer>Tea.</answer>"),
        ("Wrap your response in <out> tags", "<out>Tea.</out>"),
        ("Put your thoughts in <think> tags and write the answer within `<answer>` tags.", "<answer>Tea.</answer>"),
        (STEPS, "I now know the final answer.\nFinal Answer: Tea."),
        ("The context is in <doc> tags. <doc>x</doc>", "Tea."),
        ("Answer in uppercase: what is it?", "TEA."),
        ("Respond in all lowercase.", "tea."),
        ("What is an uppercase letter?", "Tea."),
        ("Is 3 < 4?", "Tea."),
        ("Give the final answer: tea", "Tea."),
    ],
)
def test_framed(order: str, answer: str) -> None:
    assert framed("Tea.", ["", order]) == answer
