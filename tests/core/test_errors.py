"""What our user reads of a mistake."""

import pytest

from mockserver.config.errors import ConfigError, Mistake, MockserverError, RuleError, SourceLocation

PLACE = SourceLocation("rules.yaml", 14, 7, "    model: gpt")


@pytest.mark.parametrize(
    ("mistake", "line", "shown"),
    [
        (Mistake("no rules"), "no rules", "no rules"),
        (Mistake("no rules", SourceLocation("a.yaml", 1, 1)), "a.yaml:1:1: no rules", "a.yaml:1:1: no rules"),
        (
            Mistake("unknown key", PLACE),
            "rules.yaml:14:7: unknown key  [model: gpt]",
            "rules.yaml:14:7: unknown key\n   14 |     model: gpt\n      |       ^",
        ),
        (
            Mistake("odd", SourceLocation("a.yaml", 123456, 1, "x")),
            "a.yaml:123456:1: odd  [x]",
            "a.yaml:123456:1: odd\n123456 | x\n       | ^",
        ),
    ],
)
def test_a_mistake_as_text(mistake: Mistake, line: str, shown: str) -> None:
    assert str(mistake) == line
    assert mistake.render() == shown


@pytest.mark.parametrize("error", [ConfigError, RuleError])
def test_errors_list_all_mistakes(error: type[MockserverError]) -> None:
    raised = error("first", Mistake("second", PLACE))
    assert raised.mistakes == (Mistake("first"), Mistake("second", PLACE))
    assert str(raised) == "first\nrules.yaml:14:7: second  [model: gpt]"
    assert isinstance(raised, MockserverError)
