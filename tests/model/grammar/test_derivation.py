"""Derived texts: small, varied, well set, and of what the prompt says."""

from typing import Any

import pytest

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.arguments.values import Mention
from mockserver.model.grammar.derivation import Fit, derive_tokens, find_prompt_tokens, typeset
from mockserver.model.grammar.notation import load_grammar

NESTED = load_grammar('start: "(" start* ")" | "x"')


def texts(number: int) -> str:
    return "".join(text for _, text in derive_tokens(NESTED, (), Seed(number).stream("x")))


def test_derivations_vary_and_stay_small() -> None:
    made = [texts(number) for number in range(100)]
    assert len(set(made)) > 10
    assert max(map(len, made)) < 80
    assert made == [texts(number) for number in range(100)]


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("start: a0\n" + "".join(f"a{at}: a{at + 1} a{at + 1}\n" for at in range(60)) + 'a60: "x"', "is too long"),
        ("start: NEVER\nNEVER: /a(?!a)a/", "no text was found for terminal NEVER"),
    ],
)
def test_a_text_that_cannot_be_made_is_refused(definition: str, message: str) -> None:
    with pytest.raises(Failure, match=message):
        derive_tokens(load_grammar(definition), (), Seed(0).stream("x"))


def derived(definition: str, *tokens: dict[str, str]) -> list[str]:
    made = derive_tokens(load_grammar(definition), tokens, Seed(1).stream("x"))
    return [text for _, text in made]


SELECT = 'start: "select" NAME ("," NAME)* "from" NAME ["where" NAME]\nNAME: /[a-z]+/'
SWITCH = 'start: STATE DEVICE\nSTATE: "on" | "off"\nDEVICE: "lamp" | "fan"'


@pytest.mark.parametrize(
    ("definition", "tokens", "texts"),
    [
        ("start: N (OP N)*\nN: /[0-9]+/\nOP: /[+-]/", [("N", "17"), ("OP", "-"), ("N", "3")], "17 - 3"),
        (SELECT, [("NAME", "a"), ("NAME", "b"), ('"from"', "from"), ("NAME", "c")], "select a , b from c"),
        (SELECT, [("NAME", "a"), ('"from"', "from"), ("NAME", "b"), ('"where"', "where"), ("NAME", "c")],
         "select a from b where c"),
        ("start: (K V)*\nK: /k/\nV: /[0-9]/", [("K", "k"), ("V", "1"), ("K", "k"), ("V", "2")], "k 1 k 2"),
        (SWITCH, [("DEVICE", "fan"), ("STATE", "off")], "off fan"),  # in another order
        ("start: N\nN: /[0-9]/", [("X", "x"), ("N", "4")], "4"),
    ],
)  # fmt: skip
def test_tokens_of_the_prompt_are_used(definition: str, tokens: Any, texts: str) -> None:
    assert " ".join(derived(definition, *({name: text} for name, text in tokens))) == texts


def test_the_work_is_bounded() -> None:
    mean = load_grammar("start: s\ns: s s s | s s s s | A\nA: /a/")
    assert len(Fit(mean, [{"A": "a"}] * 100).used) < 100
    assert Fit(mean, [{"A": "a"}] * 3).used == {0, 1, 2}


@pytest.mark.parametrize(
    ("ignored", "line"),
    [("/[ \\t]+/", "f(x, y) = [1];"), (r"/\n/", "f(x,\ny)\n=\n[1];"), ("/x/", "f(x,y)=[1];")],
)
def test_blanks_go_where_they_are_allowed(ignored: str, line: str) -> None:
    tokens = [("A", text) for text in ("f", "(", "x", ",", "y", ")", "=", "[", "1", "]", ";")]
    assert typeset(load_grammar(f'start: "a"\n%ignore {ignored}'), tokens) == line


LAMP = load_grammar("""
start: "turn" STATE "the" device ["to" LEVEL "%"]
STATE: "on" | "off"
device: "lamp" | "ceiling fan" | /[A-Z]{2,}[0-9]+/
LEVEL: /[0-9]+/
%ignore " "
""")


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
        (NOTHING, []),
    ],
)
def test_words_and_values_are_found_in_order(prompt: Mentions, texts: list[str]) -> None:
    assert [next(iter(token.values())) for token in find_prompt_tokens(LAMP, prompt)] == texts


@pytest.mark.parametrize(
    ("text", "order"),
    [("now, 4 + 5 well-known", "4+5"), ("4 plus 5", "4+5"), ("add 4 to 5", "4+5"), ("subtract 4 from 5", "4-5")],
)
def test_signs_stand_alone_or_are_words(text: str, order: str) -> None:
    grammar = load_grammar('start: N (("+" | "-" | ",") N)*\nN: /[0-9]+/')
    assert "".join(next(iter(token.values())) for token in find_prompt_tokens(grammar, said(text, 4, 5))) == order
