"""What functions give is data, never a template."""

import pytest

from mockserver.rules.templates import Templates
from mockserver.testing.declare import literal


@pytest.mark.parametrize("value", ["plain", 7, None, {"a": ["b", {"c": True}]}, 'say "hi" {', "é\n"])
def test_what_holds_no_template_stays(value: object) -> None:
    assert literal(value) == value


class Origin:
    rule, label, groups = "r", "text", frozenset[str]()

    def refuse_line(self, message: str, line: int) -> None:
        raise AssertionError(message)

    def where(self) -> object:
        return str


@pytest.mark.parametrize("text", ["{{ x }}", "{% raw %}{{", '{# \n "q" \'\\ #} 😀 é', "}} {{", "{{ '{% endraw %}' }}"])
def test_a_template_comes_out_as_it_was(text: str) -> None:
    made = Templates().compile(literal(text), Origin())  # type: ignore[arg-type]
    assert made.make(None) == text  # type: ignore[arg-type]
    assert literal((text, {"k": text})) == [literal(text), {"k": literal(text)}]
