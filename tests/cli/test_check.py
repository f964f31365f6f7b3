"""`mockserver check` shows every mistake with its line, and what may not be meant."""

from pathlib import Path

from tests.kit.program import run

BROKEN = """rules:
  - when: {last_user: {contain: x}}
    then: {text: a}
  - then: {txt: b}
"""
DOUBTFUL = """rules:
  - name: all
    when: {model: "gpt*"}
    then: {text: a}
  - name: never
    when: {model: gpt-4o, stream: true}
    then: {text: b}
  - name: twice
    times: 2
    then: {text: c}
"""


def test_every_mistake_is_shown_with_its_line(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(BROKEN)
    ran = run("check", rules)
    assert (ran.code, ran.out) == (2, "")
    first, second = ran.err.split(f"{rules}:4:")
    assert first == (
        f'{rules}:2:24: unknown predicate "contain"; did you mean "contains"?\n'
        "    2 |   - when: {last_user: {contain: x}}\n"
        "      |                        ^\n"
    )
    assert 'did you mean "text"?' in second


def test_doubts_are_told_and_are_no_mistakes(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(DOUBTFUL)
    ran = run("check", rules)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f'{rules}:5: rule "never" never answers: the earlier rule "all" ({rules}:2) matches whenever it does\n'
        f'{rules}:8: rule "twice" depends on the order of calls: it uses times\n'
        f"{rules}: 3 rules, no mistakes, 2 remarks\n"
    )
