"""Derived texts: small, varied, well set, and of what the prompt says."""

import pytest

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.arguments.values import Mention
from mockserver.model.grammar.derivation import Placement, derive_tokens, find_prompt_tokens, layouts
from mockserver.model.grammar.notation import load_grammar

NESTED = load_grammar('start: "(" start* ")" | "x"')
SUMS = load_grammar('start: sum\nsum: sum OP sum | N | "(" sum ")"\nN: /[0-9]+/\nOP: "+" | "-"')


def texts(number: int) -> str:
    return "".join(text for _, text in derive_tokens(NESTED, (), Seed(number).stream("x")))


def test_derivations_vary_and_stay_small() -> None:
    made = [texts(number) for number in range(100)]
    assert len(set(made)) > 10
    assert max(map(len, made)) < 80


def test_the_same_seed_derives_the_same() -> None:
    assert [texts(number) for number in range(20)] == [texts(number) for number in range(20)]


def test_what_is_wanted_is_derived_in_order_and_nothing_else() -> None:
    wanted = [{"N": "17"}, {"OP": "-"}, {"N": "3"}, {"N": "2"}]
    tokens = derive_tokens(SUMS, wanted, Seed(1).stream("x"))
    assert [text for name, text in tokens if name == "N"] == ["17", "3", "2"]
    assert next(text for name, text in tokens if name == "OP") == "-"
    assert len(tokens) == 5


def test_a_text_that_must_be_huge_is_refused() -> None:
    rules = "".join(f"a{at}: a{at + 1} a{at + 1}\n" for at in range(60))
    with pytest.raises(Failure, match="shortest text is too long"):
        derive_tokens(load_grammar(f'start: a0\n{rules}a60: "x"'), (), Seed(0).stream("x"))


def test_a_terminal_without_text_is_refused() -> None:
    with pytest.raises(Failure, match="no text was found for terminal NEVER"):
        derive_tokens(load_grammar("start: NEVER\nNEVER: /a(?!a)a/"), (), Seed(0).stream("x"))


TOKENS = [("A", text) for text in ("f", "(", "x", ",", "y", ")", "=", "[", "1", "]", ";")]


@pytest.mark.parametrize(
    ("ignored", "line"),
    [("/[ \\t]+/", "f(x, y) = [1];"), (r"/\n/", "f(x,\ny)\n=\n[1];"), ("/x/", "f(x,y)=[1];")],
)
def test_blanks_go_where_they_are_allowed(ignored: str, line: str) -> None:
    grammar = load_grammar(f'start: "a"\n%ignore {ignored}')
    assert next(layouts(grammar, TOKENS)) == line


def test_every_token_on_its_own_comes_second() -> None:
    _, apart = layouts(load_grammar('start: "a"\n%ignore " "'), TOKENS[:3])
    assert apart == "f ( x"


def test_blanks_are_not_doubled() -> None:
    tokens = [("A", "say "), ("A", "a"), ("A", " b")]
    assert next(layouts(load_grammar('start: "a"\n%ignore " "'), tokens)) == "say a b"


LAMP = load_grammar("""
start: "turn" STATE "the" device ["to" LEVEL "%"]
STATE: "on" | "off"
device: "lamp" | "ceiling fan" | /[A-Z]{2,}[0-9]+/
LEVEL: /[0-9]+/
%ignore " "
""")
LIST = load_grammar('start: list\nlist: item | list "," item\nitem: /[0-9]+/')


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
    assert [next(iter(token.values())) for token in find_prompt_tokens(LAMP, prompt)] == texts


def test_quoted_words_are_no_keywords() -> None:
    grammar = load_grammar('start: STRING ("and" STRING)*\nSTRING: /"[^"]*"/')
    assert find_prompt_tokens(grammar, said("take rock and roll", "rock and roll")) == ({"STRING": '"rock and roll"'},)


def test_signs_count_where_they_stand_alone() -> None:
    grammar = load_grammar('start: /[0-9]+/ (("+" | "-" | ",") /[0-9]+/)*')
    assert find_prompt_tokens(grammar, said("now, 1 + 2 well-known", 1, 2)) == (
        {"/[0-9]+/": "1"},
        {'"+"': "+"},
        {"/[0-9]+/": "2"},
    )


def test_prompt_tokens_go_where_they_fit() -> None:
    placement = Placement(LIST, [{"/[0-9]+/": str(number)} for number in range(3)])
    assert placement.distribute(("list", '","', "item"), (0, 1, 2)) == [(0, 1), (), (2,)]
    assert placement.distribute(("item",), (0, 1, 2)) == [(0,)]
    assert placement.distribute(("item", "list"), (0, 1, 2)) == [(0,), (1, 2)]
    assert placement.distribute(("list", "list"), (0, 1, 2)) == [(0,), (1, 2)]
    assert placement.accepted("start", (1,)) == (1,)
    assert placement.accepted('","', (1,)) == ()


def test_keywords_separate_what_is_between_them() -> None:
    grammar = load_grammar("""
        start: "select" columns "from" NAME "where" NAME
        columns: NAME ("," NAME)*
        NAME: /[a-z]+/
    """)
    words = ["select", "a", "b", "from", "c", "where", "d"]
    keywords = ("select", "from", "where")
    placement = Placement(grammar, [{f'"{word}"' if word in keywords else "NAME": word} for word in words])
    way = ('"select"', "columns", '"from"', "NAME", '"where"', "NAME")
    assert placement.distribute(way, (*range(7),)) == [(0,), (1, 2), (3,), (4,), (5,), (6,)]


def test_keywords_in_another_order_are_all_taken() -> None:
    placement = Placement(LAMP, [{'"lamp"': "lamp"}, {"STATE": "off"}])
    assert placement.distribute(('"turn"', "STATE", '"the"', "device"), (0, 1)) == [(), (1,), (), (0,)]


def test_each_turn_of_a_repetition_takes_one_of_each_kind() -> None:
    placement = Placement(
        load_grammar('start: pair*\npair: (K | L) start? V\nK: "k"\nL: "l"\nV: /[0-9]/'),
        [{"K": "k"}, {"V": "1"}, {"K": "k"}, {"V": "2"}],
    )
    assert placement.distribute(("pair", "more"), (0, 1, 2, 3), rule="more") == [(0, 1, 2, 3), ()]
    [repetition] = [name for name, ways in placement.grammar.rules.items() if any(name in way for way in ways)]
    assert placement.distribute(("pair", repetition), (0, 1, 2, 3), rule=repetition) == [(0, 1), (2, 3)]


@pytest.mark.parametrize(
    ("text", "order"),
    [("4 plus 5", ["4", "+", "5"]), ("add 4 to 5", ["4", "+", "5"]), ("subtract 4 from 5", ["4", "-", "5"])],
)
def test_signs_may_be_words(text: str, order: list[str]) -> None:
    grammar = load_grammar('start: N (("+" | "-") N)*\nN: /[0-9]+/')
    assert [next(iter(token.values())) for token in find_prompt_tokens(grammar, said(text, 4, 5))] == order
