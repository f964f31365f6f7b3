"""Sums and comparisons that a text asks for, in signs or in words, and their exact results."""

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache

from mockserver.core.lazy import lazy_pattern
from mockserver.model.fillers import word_lists


def compute(text: str, *, bare: bool) -> str | None:
    text = _as_signs(text)
    found = next((found for found in _SUM.finditer(text) if _is_question(text, found)), None)
    if found is None:
        return None
    try:
        result = _shown(_value(ast.parse(_SUPERFLUOUS.sub("", found[0]).strip(), mode="eval")))
    except ZeroDivisionError:
        return "That cannot be computed: it divides by zero."
    except (SyntaxError, ValueError):
        return None
    return result if bare else f"{_PERCENT.sub('% of ', ' '.join(found[0].split()))} = {result}"


def _as_signs(text: str) -> str:
    text = text[:4_000]
    for spoken, signs in _spoken() if _DIGIT.search(text) and _OPERATOR.search(text) else ():
        text = spoken.sub(signs, text)
    return text


def _is_question(text: str, found: re.Match[str]) -> bool:
    """Whether a sum is the question, and not a date or a number of some thing."""
    before, behind = text[max(0, found.start() - 40) : found.start()], text[found.end() : found.end() + 8]
    alone = before.rstrip()[-1:] in ("", ".", "!", "?", ":") and not behind[:3].strip(" =?.\n")
    if alone or _CUE.search(before) or behind.lstrip().startswith(("=", "equals")):
        return True
    return behind.lstrip().startswith(("?", "？", "؟")) and _SPACED.search(found[0]) is not None  # but not `on 5/12?`


def _value(node: ast.AST) -> Fraction:
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
_DIGIT = lazy_pattern(r"\d")  # without one there is no sum
_OPERATOR = lazy_pattern(
    r"(?i)[-+*/=×÷%−]|\dx\d|\b(?:plus|minus|times|multipl\w*|divided?|over|x|per ?cent\w*|added?|sum|product|subtract"
    r"|increase|raise|decrease|reduce|lower|discount|greater|larger|bigger|more|higher|less|smaller|fewer|equals?)\b"
)
_PERCENT = lazy_pattern(r" / 100 \* ")


@cache
def _spoken() -> Sequence[tuple[re.Pattern[str], str]]:
    """What is said in words, and in signs."""
    return [(lazy_pattern(f"(?i){spoken}"), signs) for spoken, signs in word_lists("patterns")["spoken_sums"]]


_NUMERAL = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,10})?(?![\d,])|\d{1,20}(?:\.\d{1,10})?"
_SUM = lazy_pattern(
    rf"(?<![\w.])[-( ]{{0,8}}(?:{_NUMERAL})(?:[ )]{{0,8}}[-+*/][-( ]{{0,8}}(?:{_NUMERAL})"
    rf"){{1,20}}[ )]{{0,8}}(?![\w/-])"
)
_SUPERFLUOUS = lazy_pattern(r",|(?<![\d.,])0+(?=\d)")
_SPACED = lazy_pattern(r"[+*]|\s[-/]\s")
_CUE = lazy_pattern(
    r"(?i)(?:what(?:'s| is| are| does)|how much is|calculate|compute|evaluate|solve|result of|value of|"
    r"work out|equals?|math:?|simplify|sum:?)\s*:?\s*(?:an?\s|the\s)?$"
)
