"""Settings as each edge writes them: the command line, Python, the control API and pytest."""

import pytest

from mockserver.config.spelling import FLAGS, KEYWORDS, ControlSpelling, Spelling
from mockserver.core.json import Json
from mockserver.pytest_plugin.configuration import PYTEST

CONTROL = ControlSpelling(FLAGS)


@pytest.mark.parametrize(
    ("spelling", "setting", "value", "written"),
    [
        (FLAGS, "record", "once", "--record once"),
        (FLAGS, "record_errors", True, "--record-errors"),
        (FLAGS, "reload", False, "--no-reload"),
        (FLAGS, "upstream", {"openai": "URL", "mcp/a": "URL"}, "--upstream openai=URL --upstream mcp/a=URL"),
        (FLAGS, "cors", ["a", "b"], "--cors a --cors b"),
        (KEYWORDS, "record", "once", 'record="once"'),
        (KEYWORDS, "record_errors", True, "record_errors=True"),
        (KEYWORDS, "upstream", {"openai": "URL"}, 'upstream={"openai": "URL"}'),
        (CONTROL, "record", "once", '"record": "once"'),
        (CONTROL, "cassette", "NAME", '"name": "NAME"'),
        (CONTROL, "upstream", {"openai": "URL"}, "--upstream openai=URL"),
        (PYTEST, "record", "once", "--mockserver-record=once"),
        (PYTEST, "upstream", {"openai": "URL"}, "--mockserver-upstream=openai=URL"),
        (PYTEST, "cassette", "NAME", '@pytest.mark.mockserver(cassette="NAME")'),
        (PYTEST, "record_errors", True, "@pytest.mark.mockserver(record_errors=True)"),
    ],
)
def test_a_setting_is_written_as_its_users_write_it(
    spelling: Spelling, setting: str, value: Json, written: str
) -> None:
    assert spelling.write(setting, value) == written


def test_a_setting_is_called_as_its_users_call_it() -> None:
    names = [spelling.name("record_errors") for spelling in (FLAGS, CONTROL, KEYWORDS, PYTEST)]
    assert names == ["--record-errors", "--record-errors", "record_errors", "record_errors"]
