"""What of a prompt goes into a text, and where."""

import pytest

from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.arguments.values import Mention
from mockserver.model.grammar.notation import grammar_of
from mockserver.model.grammar.wishes import Reach, wishes

LAMP = grammar_of("""
start: "turn" STATE "the" device ["to" LEVEL "%"]
STATE: "on" | "off"
device: "lamp" | "ceiling fan" | /[A-Z]{2,}[0-9]+/
LEVEL: /[0-9]+/
%ignore " "
""")
LIST = grammar_of('start: list\nlist: item | list "," item\nitem: /[0-9]+/')


def said(text: str, *values: str | int) -> Mentions:
    places = [(value, text.index(str(value))) for value in values]
    kinds = ("number" if isinstance(value, int) else "quoted" for value in values)
    found = (Mention(kind, value, at, at + len(str(value))) for kind, (value, at) in zip(kinds, places, strict=True))
    return Mentions(text, tuple(found))


@pytest.mark.parametrize(
    ("prompt", "texts"),
    [
        (said("Off with the Ceiling-Fan, please"), ["off", "the", "ceiling fan"]),
        (said("lamps are often"), []),
        (said("set AB12 to 40", "AB12", 40), ["AB12", "to", "40"]),
        (said("set lamp", "lamp"), ["lamp"]),
        (NOTHING, []),
    ],
)
def test_words_and_values_are_found_in_order(prompt: Mentions, texts: list[str]) -> None:
    assert [next(iter(wish.values())) for wish in wishes(LAMP, prompt)] == texts


def test_quoted_words_are_no_keywords() -> None:
    grammar = grammar_of('start: STRING ("and" STRING)*\nSTRING: /"[^"]*"/')
    assert wishes(grammar, said("take rock and roll", "rock and roll")) == ({"STRING": '"rock and roll"'},)


def test_signs_count_where_they_stand_alone() -> None:
    grammar = grammar_of('start: /[0-9]+/ (("+" | "-" | ",") /[0-9]+/)*')
    assert wishes(grammar, said("now, 1 + 2 well-known", 1, 2)) == (
        {"/[0-9]+/": "1"},
        {'"+"': "+"},
        {"/[0-9]+/": "2"},
    )


def test_wishes_go_where_they_fit() -> None:
    reach = Reach(LIST, [{"/[0-9]+/": str(number)} for number in range(3)])
    assert reach.shares(("list", '","', "item"), (0, 1, 2)) == [(0, 1), (), (2,)]
    assert reach.shares(("item",), (0, 1, 2)) == [(0,)]
    assert reach.shares(("item", "list"), (0, 1, 2)) == [(0,), (1, 2)]
    assert reach.shares(("list", "list"), (0, 1, 2)) == [(0,), (1, 2)]
    assert reach.takes("start", (1,)) == (1,)
    assert reach.takes('","', (1,)) == ()


def test_keywords_part_what_stands_between_them() -> None:
    grammar = grammar_of("""
        start: "select" columns "from" NAME "where" NAME
        columns: NAME ("," NAME)*
        NAME: /[a-z]+/
    """)
    words = ["select", "a", "b", "from", "c", "where", "d"]
    keywords = ("select", "from", "where")
    reach = Reach(grammar, [{f'"{word}"' if word in keywords else "NAME": word} for word in words])
    way = ('"select"', "columns", '"from"', "NAME", '"where"', "NAME")
    assert reach.shares(way, (*range(7),)) == [(0,), (1, 2), (3,), (4,), (5,), (6,)]


def test_keywords_in_another_order_are_all_taken() -> None:
    reach = Reach(LAMP, [{'"lamp"': "lamp"}, {"STATE": "off"}])
    assert reach.shares(('"turn"', "STATE", '"the"', "device"), (0, 1)) == [(), (1,), (), (0,)]


def test_each_turn_of_a_repetition_takes_one_of_each_kind() -> None:
    reach = Reach(
        grammar_of('start: pair*\npair: (K | L) start? V\nK: "k"\nL: "l"\nV: /[0-9]/'),
        [{"K": "k"}, {"V": "1"}, {"K": "k"}, {"V": "2"}],
    )
    assert reach.shares(("pair", "more"), (0, 1, 2, 3), of="more") == [(0, 1, 2, 3), ()]
    [repetition] = [name for name, ways in reach.grammar.rules.items() if any(name in way for way in ways)]
    assert reach.shares(("pair", repetition), (0, 1, 2, 3), of=repetition) == [(0, 1), (2, 3)]


@pytest.mark.parametrize(
    ("text", "order"),
    [("4 plus 5", ["4", "+", "5"]), ("add 4 to 5", ["4", "+", "5"]), ("subtract 4 from 5", ["4", "-", "5"])],
)
def test_signs_may_be_words(text: str, order: list[str]) -> None:
    grammar = grammar_of('start: N (("+" | "-") N)*\nN: /[0-9]+/')
    assert [next(iter(wish.values())) for wish in wishes(grammar, said(text, 4, 5))] == order
