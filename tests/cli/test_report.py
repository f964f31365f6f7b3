"""The report at the end of `mockserver run`."""

from mockserver.cli.run_report import RunReport
from mockserver.core.plan import Cause, Plan
from mockserver.core.row import Row
from mockserver.server.recording.player import CassetteChoice
from tests.kit.calls import call
from tests.kit.local import local

RULES = "rules: [{name: weather, when: {last_user: '*weather*'}, then: {text: sunny}}]"


def exchange(number: int, source: str, text: str = "hello", path: str = "/v1/chat/completions") -> Row:
    row = Row(number, "POST", path, "openai", "default")
    row.plan, row.status = Plan(None, source), 400 if source == "invalid" else 200
    row.operation = "chat"
    row.call = None if source == "invalid" else call(text)
    return row


def lines(*rows: Row, rules: str = RULES) -> list[str]:
    return lines_of(RunReport(local(rules).live), *rows)


def lines_of(report: RunReport, *rows: Row) -> list[str]:
    for row in rows:
        report.note(row)
    return "\n".join(report.list_lines()).splitlines()


def test_calls_are_counted_by_what_befell_them() -> None:
    rows = (exchange(1, "rule r.yaml:1 weather"), exchange(2, "generated"), exchange(3, "invalid"))
    first, *rest = lines(*rows, exchange(4, "limited"), exchange(5, "stored"))
    assert first == "mockserver: 5 calls: 1 by rules, 1 unmatched, 1 rejected, 1 limited, 1 look-up"
    assert rest[0] == "call 2, POST /v1/chat/completions -> 200: no rule answers this request; the nearest:"
    assert rest[1].endswith('"weather": 0 of 1 condition holds')
    assert rest[2] == '    MISS  last_user glob "*weather*": got "hello"'
    assert rest[3] == "call 3, POST /v1/chat/completions -> 400: rejected before any rule was tried"
    assert len(rest) == 4


def test_what_failed_or_was_rejected_is_told_with_its_reason() -> None:
    broken, crashed, unknown = (exchange(number, "rule r.yaml:1 weather") for number in (1, 2, 3))
    broken.plan = Plan(Cause("server_error", "r.yaml:1: `body.a` is undefined"), "rule r.yaml:1 weather")
    crashed.plan = Plan(Cause("server_error", "internal error"), "crashed")
    unknown.plan = Plan(Cause("unknown_model"), "invalid")
    unknown.pieces = [(0.0, b'{"detail": "No such model."}')]
    for row, status in ((broken, 500), (crashed, 500), (unknown, 404)):
        row.status = status
    assert lines(broken, crashed, unknown) == [
        "mockserver: 3 calls: 2 failed, 1 rejected",
        "call 1, POST /v1/chat/completions -> 500: r.yaml:1: `body.a` is undefined",
        "call 2, POST /v1/chat/completions -> 500: internal error",
        "call 3, POST /v1/chat/completions -> 404: No such model.",
        "  to accept it, add the model to the setting models",
    ]
    assert lines(crashed, rules="")[0] == "mockserver: 1 call, 1 failed (no rules)"


def test_without_rules_no_call_is_held_against_them() -> None:
    assert lines(exchange(1, "generated"), rules="") == ["mockserver: 1 call (no rules)"]
    assert lines(exchange(1, "generated"), exchange(2, "invalid"), rules="") == [
        "mockserver: 2 calls, 1 rejected (no rules)",
        "call 2, POST /v1/chat/completions -> 400: rejected before any rule was tried",
    ]


def test_a_namespace_has_rules_and_a_cassette_of_its_own() -> None:
    live = local("").live
    live.namespaces.touch("mine").choice = CassetteChoice("mine", "once", fresh=True)
    rows = [exchange(number, source) for number, source in enumerate(("generated", "forwarded", "unmatched"), 1)]
    for row in rows:
        row.namespace = "mine"
    report = RunReport(live)
    report.note(rows[1])
    report.note(rows[2])
    live.namespaces.drop("mine")  # as a test leaves it
    assert lines_of(report, exchange(4, "generated"), exchange(5, "cassette mine.yaml#1"))[:3] == [
        "mockserver: 4 calls: 1 from cassettes, 1 forwarded, 1 unmatched, 1 generated",
        "cassette mine.yaml: nothing recorded",
        "call 3, POST /v1/chat/completions -> 200: this request would be recorded into the cassette "
        '"mine" (record: once), but there is no upstream for openai; set --upstream openai=URL',
    ]


def test_rules_leave_nothing_to_record() -> None:
    report = RunReport(local(RULES).live, targets={"mine.yaml"})
    told = lines_of(report, exchange(1, "rule rules.yaml:1"))
    assert told[1:] == ["cassette mine.yaml: nothing recorded; rules come first"]


def test_what_cassettes_have_played_and_what_was_recorded() -> None:
    report = RunReport(local(RULES).live, {"chat.yaml": 14, "all.yaml": 1})
    rows = [exchange(number, f"cassette chat.yaml#{number}") for number in (1, 5, 5, 14)]
    for row in (*rows, exchange(1, "cassette all.yaml#1"), exchange(1, "forwarded")):
        report.note(row)
    report.recorded["chat.yaml"] += 1
    assert list(report.list_lines()) == [
        "mockserver: 6 calls: 5 from cassettes, 1 forwarded",
        "cassette chat.yaml: 1 episode recorded",
        "cassette chat.yaml: 11 of 14 episodes not played: #2 to #4, #6 to #13",
    ]


def test_what_was_not_recorded_is_told_with_its_reason() -> None:
    rows = [exchange(number, "forwarded") for number in (1, 2, 3)]
    for row, why in zip(
        rows, ("401: the upstream rejected the API key", "", "401: the upstream rejected the API key"), strict=True
    ):
        row.unrecorded = why
    assert lines(*rows) == [
        "mockserver: 3 calls: 3 forwarded",
        "2 answers not recorded: 401: the upstream rejected the API key",
    ]


def test_no_credential_gets_into_it() -> None:
    row = exchange(1, "generated", "is sk-proj-0a1b2c mine?", "/v1/sk-proj-0a1b2c")
    row.headers = [(b"authorization", b"Bearer sk-proj-0a1b2c")]
    text = "\n".join(lines(row))
    assert "POST /v1/sk-...(masked) -> 200" in text
    assert 'got "is sk-...(masked) mine?"' in text
