"""`mockserver check`, `init` and `schema`."""

import json
import resource
from pathlib import Path

import jsonschema_rs
import pytest

from mockserver.cli.serve import write_banner
from mockserver.config.source import read
from mockserver.server.compose import start
from mockserver.server.sources import Sources
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


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return tmp_path / "rules.yaml"


def test_check_shows_every_mistake_with_its_line(rules: Path) -> None:
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


def test_check_shows_cassettes_whatever_else_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "tapes").mkdir()
    (tmp_path / "tapes" / "torn.yaml").write_text("a: [")
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(
        f"settings: {{cassettes: {tmp_path / 'tapes'}, seed: many}}\n"
        "rules:\n"
        "  - {name: torn, then: {cassette: torn}}\n"
        "  - {name: gone, thn: 3, then: {steps: [{text: a}, {one_of: [{then: {cassette: gone}}]}]}}\n"
        "  - {then: {cassette: torn, steps: 3, one_of: [4]}}\n"
    )
    second.write_text("settings: {cassette: lost}\nrules: [{then: {txt: b}}]\n")
    ran = run("check", first, second, tmp_path / "none.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert f"{tmp_path / 'none.yaml'}: cannot be read" in ran.err
    ran = run("check", first, second)
    assert ran.code == 2
    for told in (
        f"{first}:1:",
        'seed must be a whole number, not "many"',
        f'{first}:4:5: rule "gone": there is no cassette "gone" in {tmp_path / "tapes"}',
        'unknown key "thn"',
        'there is no cassette "lost"',
        'did you mean "text"?',
    ):
        assert told in ran.err, told
    assert ran.err.count("torn.yaml:1:") == 1


def test_check_without_a_file_is_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("check")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "mockserver: nothing to check: there is no rules.yaml here; name a file, or create one with: mockserver init\n"
    )
    (tmp_path / "rules.yaml").write_text("")
    assert run("check").out == "rules.yaml: 0 rules, no mistakes, 0 remarks\n"


def test_check_prints_remarks_that_are_no_mistakes(rules: Path) -> None:
    rules.write_text(DOUBTFUL)
    ran = run("check", rules)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f'{rules}:5: rule "never" never answers: the earlier rule "all" ({rules}:2) matches whenever it does\n'
        f'{rules}:8: rule "twice" depends on the order of calls: it uses times\n'
        f"{rules}: 3 rules, no mistakes, 2 remarks\n"
    )


def test_check_remarks_that_nothing_is_forwarded_without_an_upstream(rules: Path) -> None:
    rules.write_text("version: 1\nrules: [then: {forward: true}]\n")
    remark = f"{rules}:2: rule forwards, but no upstream is set; set --upstream DIALECT=URL\n"
    assert run("check", rules).out.startswith(remark)
    given = Sources((rules,), {})
    assert f"\n  {remark}" in f"{write_banner(start(given), given, 8000)}\n"
    rules.write_text("version: 1\nsettings: {upstream: {openai: 'https://a.test'}}\nrules: [then: {forward: true}]\n")
    assert run("check", rules).out == f"{rules}: 1 rule, no mistakes, 0 remarks\n"


@pytest.mark.parametrize(
    ("rule", "missing"),
    [
        ("{when: {dialect: gemini}, then: {forward: true}}", "gemini"),
        ("{when: {dialect: openai}, then: {forward: true}}", None),
        ("{when: {host: groq}, then: {steps: [{text: a}, {forward: true}]}}", "groq"),
        ("{then: {one_of: [{then: {forward: true}}]}}", None),
        ("{when: {mcp: files}, then: {forward: true}}", "mcp/files"),
        ("{when: {tool: read}, then: {forward: true}}", "mcp/NAME"),
    ],
)
def test_check_remarks_which_upstream_is_missing(rule: str, missing: str | None, rules: Path) -> None:
    rules.write_text(f"version: 1\nsettings: {{upstream: {{openai: 'https://a.test'}}}}\nrules: [{rule}]\n")
    said = run("check", rules).out
    assert (f"set --upstream {missing}=URL" in said) is (missing is not None), said


def test_init_writes_a_starter_without_mistakes(rules: Path) -> None:
    ran = run("init", rules)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"wrote {rules}; try it: mockserver serve {rules}\n"
    first = rules.read_text().splitlines()[0]  # editors look for it nowhere else
    assert first == "# yaml-language-server: $schema=rules.schema.json"
    assert run("check", rules).out == f"{rules}: 4 rules, no mistakes, 0 remarks\n"
    assert run("ask", "oh hello there", "-r", rules).out == "Hi! How can I help?\n"


def test_init_overwrites_nothing_and_creates_no_folder(rules: Path) -> None:
    rules.write_text("mine")
    ran = run("init", rules)
    assert ran.err == f"mockserver: {rules} already exists; choose another name: mockserver init other.yaml\n"
    assert (ran.code, rules.read_text()) == (2, "mine")
    ran = run("init", rules.parent / "no" / "rules.yaml")
    assert (ran.code, ran.err.startswith(f"mockserver: {rules.parent}/no/rules.yaml: cannot be written: ")) == (2, True)


def test_init_leaves_nothing_of_a_file_that_it_cannot_write(rules: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))  # bytes: as if the disk were full
    try:
        ran = run("init", rules)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (ran.code, rules.exists()) == (2, False)
    assert "cannot be written: File too large" in ran.err


def test_init_writes_to_standard_output(rules: Path) -> None:
    ran = run("init", "-")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "# yaml-language-server: $schema=rules.schema.json")


def test_the_schema_accepts_shipped_files_and_rejects_mistakes(root: Path) -> None:
    validator = jsonschema_rs.validator_for(json.loads(run("schema").out))
    for file in (root / "rules.yaml", root / "mockserver" / "cli" / "starter.yaml"):
        validator.validate(read(file.read_text(), file.name).data)
    for wrong in (
        {"rules": [{"then": {"txt": "a"}}]},
        {"rules": [{"when": {"modle": "a"}, "then": {"text": "a"}}]},
        {"setings": {}},
        {"settings": {"sed": 1}},
        {"settings": {"port": "high"}},
    ):
        assert not validator.is_valid(wrong)
