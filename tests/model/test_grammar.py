"""Texts of grammars: a corpus of them, each text read by lark or matched by its pattern; prompts; and bad input."""

from contextlib import suppress
from time import process_time

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import GrammarError

from mockserver.core.call import Grammar
from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.arguments import find_mentions
from mockserver.model.patterns import derive_text

LARK = {
    "arithmetic": """
        start: expr
        ?expr: term | expr ("+" | "-") term
        ?term: factor | term ("*" | "/") factor
        ?factor: NUMBER | "-" factor | "(" expr ")"
        %import common.NUMBER
        %ignore " "
        """,
    "ambiguous": 'start: e\ne: e OP e | /[0-9]+/ | "(" e ")"\nOP: "+" | "*"\n',
    "sql": """
        start: "SELECT"i columns "FROM"i NAME [where] [order] ";"
        columns: "*" | column ("," column)*
        column: NAME | FUNCTION "(" NAME ")"
        FUNCTION: "COUNT"i | "SUM"i | "AVG"i
        where: "WHERE"i condition (("AND"i | "OR"i) condition)*
        condition: NAME COMPARISON (NUMBER | STRING)
        COMPARISON: "=" | "<" | ">" | "<=" | ">="
        order: "ORDER"i "BY"i NAME ["ASC"i | "DESC"i]
        NAME: /[a-z_][a-z0-9_]*/
        STRING: "'" /[^']*/ "'"
        %import common.NUMBER
        %import common.WS
        %ignore WS
        """,
    "json": r"""
        start: value
        ?value: object | array | ESCAPED_STRING | SIGNED_NUMBER | "true" | "false" | "null"
        array: "[" [value ("," value)*] "]"
        object: "{" [pair ("," pair)*] "}"
        pair: ESCAPED_STRING ":" value
        %import common (ESCAPED_STRING, SIGNED_NUMBER, WS)
        %ignore WS
        """,
    "settings": 'start: (pair "\\n")+\npair: KEY "=" VALUE\nKEY: /[A-Z][A-Z_]*/\nVALUE: /[^\\n=]+/\n',
    "command": """
        start: "git " VERB (" " flag)~0..3
        VERB: "commit" | "push" | "pull"
        flag: "--" NAME ["=" NAME] | "-" /[a-z]/
        NAME.2: /[a-z]{2,}/
        """,
    "date": """
        start: YEAR "-" MONTH "-" DAY
        YEAR: /20[0-9]{2}/
        MONTH: "0" "1".."9" | "1" "0".."2"
        DAY: /(0[1-9]|1[0-9]|2[0-8])/
        """,
    "phone": 'start: "+" AREA " " DIGITS~2..4\nAREA: /[1-9][0-9]/\nDIGITS: /[0-9]{3}/\n',
    "lists": """
        start: list
        list: "(" (CNAME | list)* ")"
        %import common (CNAME, WS_INLINE)
        %ignore WS_INLINE
        """,
    "lamp": 'start: "turn the " DEVICE " " STATE\nDEVICE: "lamp" | "fan"\nSTATE: "on"i | "off"i\n',
    "markup": 'start: node\nnode: "<" TAG ">" (node | TEXT)* "</" TAG ">"\nTAG: /[a-z]+/\nTEXT: /[^<>]+/\n',
    "query": 'start: "SELECT " NAME (", " NAME)* " FROM " NAME ";"\nNAME: /[a-z_]+/\n',
    "logic": 'start: f\nf: f "∧" f | "¬" f | ATOM\nATOM: /[pqr]/\n',
}
BODIES = (
    '"a" "b"', '"a" | "b" | "c"', '"a"?', '["a"] "b"', '"a"*', '"a"+ "b"', '"a"~3', '"a"~1..3', '("a" | "b" "c")~2',
    '"a" -> x\n | "b" -> y', '("(" start ")" | "x")', 'start "+" start | "x"', "(" * 300 + '"a"' + ")" * 300,
    'INT ("," INT)*\n%import common.INT\n%ignore " "', 'A B\nA.2: "x"\nB: /[a-z]+/',
)  # fmt: skip

TOO_MUCH = "start: " + " ".join(f"/{'s'.join([chr(92) + 'w'] * 150)}{at}/" for at in range(10))
MISSING = "a rule 'start' that derives a short text is missing; answer with a rule"
INVALID = {
    'begin: "a"': MISSING,
    "start: " + " ".join(["/a/~1000"] * 50): MISSING,
    "start: a0\n" + "".join(f"a{at}: a{at + 1} a{at + 1}\n" for at in range(60)) + 'a60: "x"': MISSING,
    "start: T\nT: A\nA: B\nB: A": MISSING,
    "start: a": "'a' is used but not defined: line 1, column 8",
    "start: a\na: b | C\n\nC: /x/": "'b' is used but not defined: line 2, column 4",
    'start: "a"~3..2': "a range of repetitions that is empty or above 1,000, 3..2: line 1, column 12",
    'start: "a"~5000': "a range of repetitions that is empty or above 1,000, 5000..5000: line 1, column 12",
    "start: NOPE\n%import common.NOPE": (
        "only terminals of lark's 'common' can be imported, not 'NOPE': line 2, column 16"
    ),
    'start: x{"a"}': "templates are not supported: line 1, column 8",
    "start: NEVER\nNEVER: /a(?!a)a/": "no text was found that the regular expression matches; answer with a rule",
    "start: (": "unexpected end of line: line 1, column 9",
    'start: "a"\nb: "x" )': "unexpected ')': line 2, column 8",
    "start: 'a'": 'unexpected "\'": line 1, column 8',
    "%declare A": "%declare is not supported: line 1, column 10",
    "%import python.NAME": "only terminals of lark's 'common' can be imported, not 'NAME': line 1, column 16",
    "start: T\nT: /(/": "a regular expression that is not valid (missing ), unterminated subpattern): line 2, column 4",
    "start: T\n" r'T: "\ud800"': "half of a character: line 2, column 4",
    'start: "a" //' + "x" * 1_000_000: "it has more than 64,000 characters",
}
REGEX = [
    r"^\d{4}-\d{2}-\d{2}$",
    r"(January|February|March) \d{1,2}(st|nd|rd|th) \d{4} at (0?[1-9]|1[0-2])(AM|PM)",
    r"^\+[1-9]\d{1,2} \d{3} \d{4}$",
    r"[A-Z]{2,5}-\d+",
    r"^#[0-9a-fA-F]{6}$",
    r"(?i)^(red|green|blue)$",
    r"^(?P<key>\w+)=(?P<value>[^;\s]+);$",
    r"\p{Lu}\p{Ll}+",
    r"^[01]{8}$",
    r"SELECT \w+ FROM \w+;",
]


@pytest.mark.parametrize("name", LARK)
def test_lark_reads_every_text(name: str) -> None:
    readers = [Lark(LARK[name])]
    if name not in ("ambiguous", "logic"):
        readers.append(Lark(LARK[name], parser="lalr"))
    texts = [derive_text(Grammar("lark", LARK[name]), Seed(number)) for number in range(40)]
    for text in texts:
        for reader in readers:
            reader.parse(text)
    assert max(map(len, texts)) < 400


@pytest.mark.parametrize("pattern", REGEX)
def test_patterns_match_every_text(pattern: str) -> None:
    for number in range(40):
        assert regex.fullmatch(pattern, derive_text(Grammar("regex", pattern), Seed(number)))


@pytest.mark.parametrize(
    ("name", "prompt", "text"),
    [
        ("date", "in 2024", "2024-"),
    ],
)
def test_values_of_the_prompt_come_first(name: str, prompt: str, text: str) -> None:
    assert derive_text(Grammar("lark", LARK[name]), Seed(5), find_mentions(prompt)).startswith(text)


@pytest.mark.parametrize(
    ("pattern", "prompt", "text"),
    [
        (REGEX[0], "book it for 2024-05-17", "2024-05-17"),
        (REGEX[1], "remember March 7th 2025 at 10AM", "March 7th 2025 at 10AM"),
        (REGEX[3], "close AB-12 as done", "AB-12"),
        (REGEX[5], "paint it green", "green"),
        (r"[a-z ]+", 'say "good morning"', "good morning"),
    ],
)
def test_a_match_in_the_prompt_comes_first(pattern: str, prompt: str, text: str) -> None:
    assert derive_text(Grammar("regex", pattern), Seed(5), find_mentions(prompt)) == text


@pytest.mark.parametrize(
    ("syntax", "definition", "message"),
    [
        ("regex", "a(b", "missing ), unterminated subpattern: line 1, column 2."),
        ("regex", "[\ud800-\udfff]", "half of a character: line 1, column 1."),
        ("regex", "a\nb)", "unbalanced parenthesis: line 2, column 2."),
        ("regex", "|".join([r"\w\w"] * 1_500), "it repeats too much: line 1, column 1."),
        ("lark", TOO_MUCH, "its regular expressions repeat too much; answer with a rule."),
        ("regex", "a" * 10_000, "it has more than 8,000 characters."),
        ("regex", "a(?!a)a", "no text was found that the regular expression matches; answer with a rule."),
        ("regex", "((a{1000}){1000}){1000}", "it repeats too much: line 1, column 1."),
        ("lark", "start: (", "unexpected end of line: line 1, column 9."),
        ("lark", 'start: start "x"', f"{MISSING}."),
        ("gbnf", 'root ::= "a"', "its syntax is 'lark' or 'regex', not 'gbnf'."),
    ],
)
def test_broken_patterns_are_client_errors(syntax: str, definition: str, message: str) -> None:
    with pytest.raises(Failure) as caught:
        derive_text(Grammar(syntax, definition), Seed(0))
    assert caught.value == Failure("bad_parameter", f"Invalid grammar: {message}")


@pytest.mark.parametrize("definition", INVALID)
def test_what_is_invalid_is_reported_with_its_position(definition: str) -> None:
    with pytest.raises(Failure) as caught:
        derive_text(Grammar("lark", definition), Seed(0))
    assert caught.value == Failure("bad_parameter", f"Invalid grammar: {INVALID[definition]}.")


@pytest.mark.parametrize("body", BODIES)
def test_lark_reads_what_is_derived(body: str) -> None:
    lark = Lark(f"start: {body}")
    for number in range(10):
        lark.parse(derive_text(Grammar("lark", f"start: {body}"), Seed(number)))


def test_terminals_of_lark_itself_can_be_imported() -> None:
    names = ("INT", "NUMBER", "SIGNED_FLOAT", "ESCAPED_STRING", "CNAME", "WORD", "NEWLINE", "C_COMMENT", "HEXDIGIT")
    for name in names:
        definition = f"start: {name}\n%import common.{name}"
        Lark(definition).parse(derive_text(Grammar("lark", definition), Seed(1)))


ENDLESS = "".join(f"a{at}: a{at + 1} | a{at + 1} a{at + 1}\n" for at in range(500))
HOSTILE = {
    "options": "start: " + " ".join(f'["o{at}"]' for at in range(300)),
    "repetitions": 'start: (("a"~0..900)~0..900)~0..900',
    "alternatives": "start: " + " | ".join(f'"word{at}"' for at in range(4000)),
    "empty rules": 'start: s\ns: s s | s s s | "a" |',
    "units": "start: a\na: b | a\nb: a | c\nc: b | /x/",
    "long chains": f'start: a0\n{ENDLESS}a500: "x"',
    "brackets": "start: " + "(" * 4000 + '"a"' + ")" * 4000,
    "backtracking": "start: A | B\nA: /(a|a|aa)+b/\nB: /(a|aa)+c/",
    "verbose": "start: /a # (((\n b/x",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("prompt", ["", "a" * 60 + " '" + "a " * 5_000 + "' " + '"' * 1_000 + "7 " * 5_000])
def test_hostile_grammars_take_bounded_time(name: str, prompt: str) -> None:
    said, start = find_mentions(prompt), process_time()
    derive_text(Grammar("lark", HOSTILE[name]), Seed(0), said)
    assert process_time() - start < 20  # most take milliseconds


def test_an_expression_that_backtracks_costs_little() -> None:
    text = derive_text(Grammar("lark", "start: A\nA: /(.|.|..)+[01]{3}/"), Seed(0), find_mentions("'" + "a" * 60 + "'"))
    assert text[-3:].strip("01") == ""


NAMES = ("start", "a", "b", "c")
LEAVES = st.one_of(st.sampled_from(NAMES[1:]), st.sampled_from(('"x"', '"y"', '"zz"', "/[0-9]/", "/[a-c]+/", '"w"i')))
PARTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("({})".format, inner),
        st.builds("[{}]".format, inner),
        st.builds("({}){}".format, inner, st.sampled_from(("?", "*", "+", "~2", "~0..2"))),
        st.builds("{} {}".format, inner, inner),
        st.builds("({} | {})".format, inner, inner),
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=150)
@given(st.lists(PARTS, min_size=4, max_size=4), st.integers(0, 3))
def test_texts_of_any_grammar_are_read_by_lark(bodies: list[str], number: int) -> None:
    definition = "".join(f"{name}: {body}\n" for name, body in zip(NAMES, bodies, strict=True))
    try:
        text = derive_text(Grammar("lark", definition), Seed(number))
    except Failure as failure:
        assert "is missing" in str(failure.message)  # noqa: PT017  # no grammar else fails
        return
    with suppress(GrammarError):  # lark takes no alternative twice
        Lark(definition, lexer="dynamic_complete").parse(text)


def test_the_same_everywhere() -> None:
    texts = {name: derive_text(Grammar("lark", LARK[name]), Seed(3)) for name in ("sql", "json", "date", "lists")}
    assert texts == {"date": "2053-01-20", "json": "true", "lists": "()", "sql": "SELECT * FROM garden;"}


@pytest.mark.parametrize(
    ("definition", "wanted"), [("[[:alpha:]]{3}", "[a-zA-Z]{3}"), ("[^[:space:][:digit:]]+", r"[^\s\d]+")]
)
def test_classes_have_names(definition: str, wanted: str) -> None:
    assert regex.fullmatch(wanted, derive_text(Grammar("regex", definition), Seed(0)))
    assert regex.fullmatch(wanted, derive_text(Grammar("lark", f"start: WORD\nWORD: /{definition}/"), Seed(0)))
