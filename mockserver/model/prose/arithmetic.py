"""Sums that a prompt sets, in signs or words: plus, minus, times, divided by."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction


def computed(text: str, *, bare: bool) -> str | None:
    """The sum that a text asks for with its result, or the result alone if it is to be `bare`."""
    text = text[:4000]
    for words, signs in _SPOKEN:
        text = words.sub(signs, text)
    found = next((found for found in _SUM.finditer(text) if _is_question(text, found)), None)
    if found is None:
        return None
    try:
        result = _shown(_value(ast.parse(_SUPERFLUOUS.sub("", found[0]).strip(), mode="eval")))
    except ZeroDivisionError:
        return "That cannot be computed: it divides by zero."
    except (SyntaxError, ValueError):
        return None
    return result if bare else f"{' '.join(found[0].split())} = {result}"


def _is_question(text: str, found: re.Match[str]) -> bool:
    """Whether a sum is the question, and not a date or a number of some thing."""
    before, behind = text[max(0, found.start() - 40) : found.start()], text[found.end() : found.end() + 3]
    alone = not before.strip() and not behind.strip(" =?.\n")
    if alone or _CUE.search(before) or behind.lstrip().startswith("="):
        return True
    return behind.lstrip().startswith(("?", "？", "؟")) and _SPACED.search(found[0]) is not None  # but not `on 5/12?`


def _value(node: ast.AST) -> Fraction:
    """Return the exact value of an expression; raise ValueError for anything but numbers, signs and brackets."""
    match node:
        case ast.Expression(body=body):
            return _value(body)
        case ast.Constant(value=int() | float() as number):
            return Fraction(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(left), _value(right))
    raise ValueError(ast.dump(node))


def _shown(result: Fraction) -> str:
    """A number as people write it, rounded to ten places."""
    if result.denominator == 1:
        return str(result.numerator)
    scaled = round(result * 10**10)
    whole, part = divmod(abs(scaled), 10**10)
    return ("-" if scaled < 0 else "") + f"{whole}.{part:010d}".rstrip("0").rstrip(".")


_OPERATORS: Mapping[type, Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_TWO = r"(-?[\d.]{1,20}) (?:and|to|by|with|from) (-?[\d.]{1,20}\b)"
_SPOKEN = tuple(
    (re.compile(f"(?i){words}"), signs)
    for words, signs in (
        (r"(?<=\d)\s+(?:plus|added to)\s+(?=[-\d(])", " + "),
        (r"(?<=\d)\s+(?:minus)\s+(?=[-\d(])", " - "),
        (r"(?<=\d)\s+(?:times|multiplied by|x)\s+(?=[-\d(])|(?<=\d)\s?×\s?(?=[-\d(])|(?<=\d)x(?=\d)", " * "),
        (r"(?<=\d)\s+(?:divided by|over)\s+(?=[-\d(])|(?<=\d)\s?÷\s?(?=[-\d(])", " / "),
        (rf"\b(?:add|(?:the )?sum of) {_TWO}", r"what is \1 + \2"),
        (rf"\b(?:multiply|(?:the )?product of) {_TWO}", r"what is \1 * \2"),
        (rf"\bdivide {_TWO}", r"what is \1 / \2"),
        (rf"\bsubtract {_TWO}", r"what is \2 - \1"),
        ("−", "-"),
    )
)
_NUMERAL = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,10})?(?![\d,])|\d{1,20}(?:\.\d{1,10})?"
_SUM = re.compile(
    rf"(?<![\w.])[-( ]{{0,8}}(?:{_NUMERAL})(?:[ )]{{0,8}}[-+*/][-( ]{{0,8}}(?:{_NUMERAL})"
    rf"){{1,20}}[ )]{{0,8}}(?![\w/-])"
)
_SUPERFLUOUS = re.compile(r",|(?<![\d.,])0+(?=\d)")
_SPACED = re.compile(r"[+*]|\s[-/]\s")
_CUE = re.compile(
    r"(?i)(?:what(?:'s| is| are| does)|how much is|calculate|compute|evaluate|solve|result of|value of|"
    r"work out|equals?|math:?|simplify|sum:?)\s*:?\s*$"
)
