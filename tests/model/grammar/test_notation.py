"""Grammars in lark's notation: what they derive, their terminals, and what is invalid."""

from concurrent.futures import ThreadPoolExecutor
from sys import getswitchinterval, setswitchinterval

import pytest
from lark import Lark

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.grammar import notation, text_of
from mockserver.model.grammar.notation import Grammar, Terminal, load_grammar, parse_statements, smallest_derivations
from mockserver.model.patterns import LiteralPattern, fullmatch

BODIES = (
    *('"a" "b"', '"a" | "b" | "c"', '"a"?', '["a"] "b"', '"a"*', '"a"+ "b"', '"a"~3', '"a"~1..3', '("a" | "b" "c")~2'),
    *('"a" -> x\n | "b" -> y', '("(" start ")" | "x")', 'start "+" start | "x"', "(" * 300 + '"a"' + ")" * 300),
    *('INT ("," INT)*\n%import common.INT\n%ignore " "', 'A B\nA.2: "x"\nB: /[a-z]+/'),
)

# The terminal T, texts that it matches, and texts that it does not.
TERMINALS = {
    'T: "a.b"': (["a.b"], ["axb", "A.B"]),
    'T: "ab"i': (["ab", "AB"], ["abc"]),
    r'T: "\"\n\t\\\u00e9"': (['"\n\t\\é'], []),
    r"T: /a\/b/i": (["a/b", "A/B"], ["ab"]),
    "T: /a # first\n b [ #]/x": (["ab ", "ab#"], ["a b "]),
    'T: "a".."c"': (["b"], ["d", "-"]),
    'T: "a" "b"? ["c"] "d"* "e"+': (["ae", "abcddee"], ["abc"]),
    'T: A B\nA: "a" | "aa"\nB: A+': (["aaa"], ["a"]),
    "T: A | B\nA: /[0-9]/\nB: /[0-9]+\\.[0-9]/": (["1", "1.5"], ["1."]),
}

INVALID = {
    'begin: "a"': "it has no rule 'start'",
    "start: a": "rule 'a' is used but not defined: line 1, column 8",
    "start: a\na: b | C\n\nC: /x/": "rule 'b' is used but not defined: line 2, column 4",
    'start: "a"~3..2': "a bad range, 3..2: line 1, column 12",
    'start: "a"~5000': "more than 1,000 repetitions: line 1, column 12",
    "start: NOPE\n%import common.NOPE": "there is no terminal 'NOPE' in common: line 2, column 16",
    'start: x{"a"}': "templates are not supported: line 1, column 8",
    "start: " + " ".join(["/a/~1000"] * 50): "it is too large",
    "start: T0\n" + "".join(f"T{at}: T{at + 1}\n" for at in range(3000)) + 'T3000: "x"': "it is nested too deeply",
    "start: (": "unexpected end of line: line 1, column 9",
    'start: "a"\nb: "x" )': "unexpected ')': line 2, column 8",
    "start: 'a'": 'unexpected "\'": line 1, column 8',
    "%declare A": "%declare is not supported: line 1, column 10",
    'start: a{"b"}\na{c}: c': "templates are not supported: line 2, column 1",
    'start: "a"\nstart: "b"': "'start' is defined more than once: line 2, column 1",
    'INT: "1"\n%import common.INT': "'INT' is defined more than once: line 2, column 16",
    "%import python.NAME": "only terminals of 'common' can be imported: line 1, column 9",
    'start: T\nT: ""': "a terminal that is empty: line 2, column 4",
    "start: T\nT: A\nA: B\nB: A": "terminal 'A' contains itself: line 4, column 4",
    'start: T\nT: a\na: "x"': "rule 'a' is used in a terminal: line 2, column 4",
    'start: T\nT: "ab".."c"': "a range that is not from one character to another: line 2, column 4",
    "start: T\nT: /(/": r"a regular expression that is not valid (missing )): line 2, column 4",
    'start: T\nT: "x" -> y': "alias in a terminal: line 2, column 4",
    "start: T\n" r'T: "\ud800"': "half of a character: line 2, column 4",
    "\n".join(["start: T\nT: A0", *(f"A{at}: A{at + 1} A{at + 1}" for at in range(20)), 'A20: "x"']): (
        "terminal 'A10' is too large: line 12, column 5"
    ),
    "".join(["start: T0\n", *(f"start{at}: T{at}\nT{at}: /x{at}/\n" for at in range(401))]): (
        "more than 400 regular expressions: line 802, column 11"
    ),
    'start: "a" //' + "x" * 1_000_000: "it has more than 64,000 characters",
}
STATEMENTS = """
// about
start: a B | C  # the start
!?a.2: "x"
     | "y" -> named
B.3: /b/i
%import common.INT
%import common.WS -> BLANK
%import common (WORD, NUMBER)
%ignore BLANK
"""


@pytest.mark.parametrize("body", BODIES)
def test_lark_reads_what_is_derived(body: str) -> None:
    lark = Lark(f"start: {body}")
    for number in range(10):
        lark.parse(text_of("lark", f"start: {body}", Seed(number)))


@pytest.mark.parametrize("definition", INVALID)
def test_what_is_invalid_is_reported_with_its_position(definition: str) -> None:
    with pytest.raises(Failure) as caught:
        load_grammar(definition)
    assert caught.value == Failure("bad_parameter", f"Invalid grammar: {INVALID[definition]}.")


def test_statements() -> None:
    found = parse_statements(STATEMENTS)
    assert list(found.rules) == ["start", "a"]
    assert list(found.terminals) == ["B"]
    assert found.imports == {"INT": "INT", "BLANK": "WS", "WORD": "WORD", "NUMBER": "NUMBER"}
    assert len(found.ignored) == 1


def test_terminals_of_lark_itself_can_be_imported() -> None:
    names = ("INT", "NUMBER", "SIGNED_FLOAT", "ESCAPED_STRING", "CNAME", "WORD", "NEWLINE", "C_COMMENT", "HEXDIGIT")
    for name in names:
        assert name in load_grammar(f"start: {name}\n%import common.{name}").terminals


def test_threads_can_import_the_same_terminals_at_once() -> None:
    definition = "start: NUMBER SIGNED_FLOAT\n%import common (NUMBER, SIGNED_FLOAT)"
    expected, interval = load_grammar(definition).terminals, getswitchinterval()
    setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            for _ in range(40):
                notation._lark_sources.cache_clear()
                for found in threads.map(load_grammar, [definition] * 4):
                    assert found.terminals == expected
    finally:
        setswitchinterval(interval)


@pytest.mark.parametrize("text", TERMINALS)
def test_patterns_match(text: str) -> None:
    right, wrong = TERMINALS[text]
    assert [each for each in right if not fullmatch(_terminal(text).pattern, each)] == []
    assert [each for each in wrong if fullmatch(_terminal(text).pattern, each)] == []


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ('T: "a" | "b" | A\nA: "c"i', ("a", "b", "c")),
        ("T: /red?/", ()),
        ('T: "a" | /b+/', ()),
        ('T: "a" "b"', ()),
        ("T: " + " | ".join(f'"w{at}"' for at in range(300)), ()),
    ],
)
def test_few_texts_are_listed(text: str, listed: tuple[str, ...]) -> None:
    assert _terminal(text).texts == listed


def _terminal(definition: str) -> Terminal:
    return load_grammar(f"start: T\n{definition}").terminals["T"]


X = {"x": Terminal(LiteralPattern("x"))}
RULES = {
    "start": (("a", "b"), ("x", "x", "x", "x", "x", "x", "x")),
    "a": (("a", "x"), ("x",)),
    "b": (("a", "a"), ()),
    "never": (("never", "x"),),
    "unknown": (("nowhere",),),
}


def test_sizes_of_the_smallest_derivations() -> None:
    assert smallest_derivations(RULES, X) == {"x": 1, "b": 1, "a": 2, "start": 4}
    assert Grammar(RULES, X).min_size(("x", "never")) > 1 << 60
    assert Grammar(RULES, X).min_size(("x", "a")) == 3


def test_sizes_of_many_rules_are_found_at_once() -> None:
    chain = {f"r{at}": ((f"r{at + 1}", f"r{at + 1}"),) for at in range(3000)}
    assert smallest_derivations({**chain, "r3000": (("x",),)}, X)["r0"] == 1 << 62
