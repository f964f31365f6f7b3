"""A file becomes episodes, what was left, and the hosts of strangers."""

import json

from mockserver.cassettes.convert.imports import import_file
from mockserver.cassettes.parse_response import parse_response
from tests.cassettes.importing.kit import KNOWN, interaction


def test_what_cannot_be_taken_over_does_not_stop_the_rest() -> None:
    rows = [
        interaction(),
        interaction(request={"uri": "https://example.com/a"}),
        interaction(request={"uri": "https://api.openai.com/v1/files"}),
        interaction(body={"string": ""}),
        interaction(request={"uri": "https://example.com/b"}),
        interaction(request={"uri": "https://api.skytells.ai/v1/chat/completions"}),
    ]
    found = import_file(json.dumps({"interactions": rows}).encode(), "a.json", KNOWN)
    assert [(one.dialect, one.operation, one.model) for one in found.episodes] == [
        ("openai", "chat", "gpt-4o"),
        ("skytells", "chat", "gpt-4o"),
    ]
    assert parse_response(found.episodes[0].reply, "chat").choices[0].joined("text") == "Hello"
    assert [(left.where, left.why) for left in found.skipped] == [
        ("a.json: interaction 3", "openai has no POST /v1/files"),
        ("a.json: interaction 4", "the recording lacks the body of its answer"),
    ]
    assert found.unknown_hosts == (("example.com", 2),)


def test_a_dialect_that_is_given_is_that_of_all() -> None:
    rows = [interaction(request={"uri": "https://gateway.corp/llm/v1/chat/completions"})]
    data = json.dumps({"interactions": rows}).encode()
    (one,) = import_file(data, "a.json", KNOWN, "tzafon").episodes
    assert (one.dialect, one.request.path) == ("tzafon", "/tzafon/v1/chat/completions")
