"""What is quoted, and what only looks so."""

import pytest

from mockserver.model.arguments.values import quoted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('say "a b" and "c"', ["a b", "c"]),
        ("say 'it is' now", ["it is"]),
        ("“a” ‘b’ «c» „d“ 「e」 『f』 ‹g›", ["a", "b", "c", "d", "e", "f", "g"]),
        ("`ls -la` and ```x = 1```", ["ls -la", "x = 1"]),
        ("```python\nprint(1)\n```", ["print(1)"]),
        ("don't and users' and 'tis", []),
        ("the users' and the hosts' names", []),
        ('"I don\'t know"', ["I don't know"]),
        ("'I don't know'", ["I don't know"]),
        ('an open " quote', []),
        ('5" and 6" tall', []),
        (r'"a \" b"', [r"a \" b"]),
        ('""', []),
        ('"a\n\nb"', []),
    ],
)
def test_quotations(text: str, expected: list[str]) -> None:
    assert [mention.value for mention in quoted(text)] == expected


def test_code_is_told_from_quotations() -> None:
    assert [(m.kind, m.unit) for m in quoted("```py\nx\n``` `y` 'z'")] == [("code", "py"), ("code", ""), ("quoted", "")]
