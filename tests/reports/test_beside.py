"""What is told of a test that failed by itself."""

from mockserver.cassettes.redaction.redact import Secrets
from mockserver.reports.calls import MOST_REFUSED, NONE_CAME
from mockserver.reports.failures import beside, problem
from tests.kit.came import Came

REFUSED = Came(
    None, source="invalid", status=400, error="No top-secret-thing.\n", secrets=Secrets(("top-secret-thing",))
)


def test_nothing() -> None:
    assert beside((), ()) == NONE_CAME


def test_problems_then_refusals_then_calls() -> None:
    answered = Came(source="rule t.py:1", status=500, error="its template failed")
    assert beside([REFUSED, answered, Came(source="rule t.py:1", status=200)], [problem("budget")]).splitlines() == [
        "budget",
        "",
        "call 1: chat -> invalid (400)",
        "  No top-...(masked).\\n",
        'call 1: chat gpt-4o "hello" -> rule t.py:1 (500)',
        "  its template failed",
        "",
        "3 calls came:",
        "  call 1: chat -> invalid (400)",
        *['  call 1: chat gpt-4o "hello" -> rule t.py:1'] * 2,
    ]


def test_of_many_refusals_the_first() -> None:
    assert f"... and {30 - MOST_REFUSED} more that were refused\n" in beside([REFUSED] * 30, ())
