"""Values with a form of their own are found whole, and nothing of the sentence with them."""

import pytest

from mockserver.model.arguments.values import literals


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("see https://a.example/b?c=1, please", "url", "https://a.example/b?c=1"),
        ("(https://a.example/b_(c))", "url", "https://a.example/b_(c)"),
        ("write to bob.x+y@mail.example.com.", "email", "bob.x+y@mail.example.com"),
        ("id 550e8400-e29b-41d4-a716-446655440000!", "uuid", "550e8400-e29b-41d4-a716-446655440000"),
        ("from 10.0.0.7 on", "ip", "10.0.0.7"),
        ("from 2001:db8::1 on", "ip", "2001:db8::1"),
        ("read /etc/hosts.", "path", "/etc/hosts"),
        ("open src/app.py now", "path", "src/app.py"),
        ("open report.csv", "path", "report.csv"),
        (r"open C:\Users\bob", "path", r"C:\Users\bob"),
        ("call +1 415 555 0132 today", "phone", "+1 415 555 0132"),
        ("call (415) 555-0132", "phone", "(415) 555-0132"),
        ("ping db-1.example.com", "host", "db-1.example.com"),
        ("order ORD-1234", "id", "ORD-1234"),
        ("order abc_123", "id", "abc_123"),
        ("commit 9fceb02d", "id", "9fceb02d"),
        ("post to #general", "channel", "#general"),
        ("release v2.4.1", "version", "v2.4.1"),
        ("what is (12 + 8) * 3?", "expression", "(12 + 8) * 3"),
        ("at 12 Oak Street in", "address", "12 Oak Street"),
        ("paint it #ff8800", "color", "#ff8800"),
    ],
)
def test_literals(text: str, kind: str, value: str) -> None:
    found = {(m.kind, m.value) for sure in (True, False) for m in literals(text, sure=sure)}
    assert (kind, value) in found
    assert all(text[m.start : m.end] == m.value for sure in (True, False) for m in literals(text, sure=sure))


@pytest.mark.parametrize("text", ["2025-03-03", "one and two", "self-made", "3-4", "1/2", "well-known"])
def test_what_has_no_form_of_its_own(text: str) -> None:
    assert [m for m in literals(text, sure=False) if m.kind in ("id", "expression")] == []
