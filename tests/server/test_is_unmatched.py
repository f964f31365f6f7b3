"""Look-ups want no rule; what models are asked for does."""

import pytest

from mockserver.core.exchange import Exchange
from mockserver.core.plan import Plan, Rendered
from mockserver.server.explain import is_unmatched


@pytest.mark.parametrize(
    ("source", "operation", "is_unruled"),
    [
        ("generated", "chat", True),
        ("generated", "embeddings", True),
        ("generated", "models", False),
        ("generated", "", False),
        ("unmatched", "chat", True),
        ("unmatched", "response", True),
        ("rule r.yaml:1", "chat", False),
        ("invalid", "chat", False),
    ],
)
def test_what_no_rule_answered(source: str, operation: str, is_unruled: bool) -> None:
    row = Exchange(1, "POST", "/", "openai", "default")
    row.plan, row.operation = Plan(Rendered(), source), operation
    assert is_unmatched(row) is is_unruled
