"""The faults that clients are put through, as rules write them."""

TEXT = "One two three: naïve."
CALL = "{name: get_weather, arguments: {city: Oslo}}"
IN_TEXT = (
    "cut",
    "cut: {after_tokens: 2}",
    "cut: {at_start: true}",
    "disconnect",
    "disconnect: {after_tokens: 2}",
    "disconnect: {before_done: true}",
    "reset",
    "reset: {after_tokens: 2}",
    "stall",
    "stall: {after_tokens: 2}",
    "slow: {bytes_per_second: 50000}",
    "keepalive",
    "malformed_json",
    "split_utf8",
    "split_frame",
    "join_frames",
    "duplicate",
    "reorder",
    "crlf",
    "wrong_content_type",
    "wrong_content_length: {by: 10}",
    "wrong_content_length: {by: -10}",
    "empty_body",
    "error_event",
    "error_event: {at_start: true, reason: overloaded}",
    "missing_field: {field: /choices}",
    "drop_usage",
)
IN_CALLS = ("bad_tool_arguments", "unknown_tool", "cut: {in_tool_arguments: true}")
CASES = (*IN_TEXT, *IN_CALLS)


def rules() -> str:
    """A rules file with a rule for each fault, and one each for an intact text and an intact call."""
    rows = [_rule(fault, "tool_calls: [" + CALL + "]" if fault in IN_CALLS else f'text: "{TEXT}"') for fault in CASES]
    intact = f'  - {{when: {{last_user: "*"}}, then: {{text: "{TEXT}"}}}}'
    calling = "  - {when: {last_user: call}, then: {tool_calls: [" + CALL + "]}}"
    return "\n".join(["rules:", *rows, calling, intact, ""])


def _rule(fault: str, answer: str) -> str:
    told = "{" + fault + "}" if ":" in fault else fault
    return f"  - {{when: {{header.x-case: {{equals: '{fault}'}}}}, then: {{{answer}, faults: [{told}]}}}}"
