"""Settings from four origins, and what is said about those that cannot be."""

import pickle
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.config.errors import ConfigError
from mockserver.config.layers import assemble, assemble_valid, format_variable
from mockserver.config.settings import KeySettings, ModelSettings, Settings, show_settings
from mockserver.config.source import Document, read
from mockserver.config.spelling import KEYWORDS
from mockserver.config.timing import PROFILES
from mockserver.core.plan import Timing
from mockserver.core.rates import UNLIMITED, Limits, Rate
from mockserver.core.seed import FROZEN_AT
from mockserver.core.validation import Validation


def of_file(text: str) -> Settings:
    return assemble({}, {}, [read(text, "rules.yaml")])


def of_values(**values: Any) -> Settings:
    return assemble({}, {}, [Document.from_data({"settings": values}, "rules.yaml")])


def mistakes(
    text: str = "", environ: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        assemble(flags or {}, environ or {}, [read(text, "rules.yaml")], dialects=("azure", "openai"))
    return [str(mistake) for mistake in caught.value.mistakes]


def test_bytes_of_the_environment_that_are_no_text() -> None:
    name = format_variable("host")
    assert mistakes(environ={name: "a\udcff"}) == [f"{name} must be UTF-8 text, not 'a\\udcff'"]


def test_flags_win_over_variables_over_files_over_defaults() -> None:
    first = read("settings: {port: 1, seed: 1, host: a, ids: unique}", "a.yaml")
    second = read("settings: {port: 2, seed: 2, host: b}", "b.yaml")
    settings = assemble({"port": "4"}, {"MOCKSERVER_PORT": "3", "MOCKSERVER_SEED": "3"}, [first, second])
    assert (settings.port, settings.seed, settings.host, settings.ids, settings.log) == (4, 3, "b", "unique", "none")


@pytest.mark.parametrize("copied", [copy, deepcopy, lambda table: pickle.loads(pickle.dumps(table))])
def test_tables_can_be_copied_and_pickled(copied: Callable[[Settings], Settings]) -> None:
    settings = of_file("settings: {port: 1, models: {a: {aliases: [b]}}, limits: {requests_per_minute: 2}}")
    twin = copied(settings)
    assert twin == settings
    assert twin is not settings
    assert twin.model_fields_set == {"port", "models", "limits"}


def test_settings_that_differ_from_their_defaults_are_shown_without_secrets() -> None:
    settings = of_file("""
      settings:
        port: 8000
        seed: 7
        clock: real
        background_polls: 2
        models: {a: {aliases: b}}
        limits: {requests_per_minute: 2}
        match: {ignore: seed}
        upstream: {openai: "http://127.0.0.1:1/v1"}
        keys: {sk-one: {}, sk-two: {}}
        scrub: [{regex: Jane Doe}]
        state: redis://:hidden@127.0.0.1
        control_token: hidden
    """)
    rate = {"kind": "requests", "window": "minute", "limit": 2}
    assert show_settings(settings) == {
        "seed": 7,
        "clock": "real",
        "background_polls": 2,
        "models": {"a": {"aliases": ("b",)}},
        "limits": {"rates": (rate,), "concurrent": None, "queue": 0, "patience": None},
        "match": {"ignore": ("seed",)},
        "upstream": {"openai": "http://127.0.0.1:1/v1"},
        "keys": 2,
        "scrub": 1,
    }
    assert not any(secret in repr(settings) for secret in ("sk-one", "Jane", "hidden"))


@pytest.mark.parametrize("text", ["", "settings:", "rules: []", "[]", "just text"])
def test_a_file_without_settings_changes_nothing(text: str) -> None:
    assert of_file(text) == Settings()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("clock", "frozen", FROZEN_AT),
        ("clock", "real", None),
        ("clock", "1700000000", 1_700_000_000),
        ("clock", "2024-05-01T12:00:00Z", 1_714_564_800),
        ("models", ["gpt-4o*", "o3"], {"gpt-4o*": ModelSettings(), "o3": ModelSettings()}),
        (
            "models",
            {"gpt-4o": {"context_window": 128_000}, "o3": None},
            {"gpt-4o": ModelSettings(context_window=128_000), "o3": ModelSettings()},
        ),
        ("keys", "sk-a, sk-b,", {"sk-a": KeySettings(), "sk-b": KeySettings()}),
        ("models", {"a": {"aliases": "b"}}, {"a": ModelSettings(aliases=("b",))}),
        ("keys", {"a": None, 7: {"models": "gpt*"}}, {"a": KeySettings(), "7": KeySettings(models=("gpt*",))}),
        (
            "limits",
            {"tokens_per_day": 5, "requests_per_minute": None, "concurrent_requests": 2, "queue_timeout": "2s"},
            Limits((Rate("requests", "minute", UNLIMITED), Rate("tokens", "day", 5)), 2, 0, 2.0),
        ),
        ("cors", ["https://App.example/", "*"], ("https://app.example", "*")),
        ("allowed_hosts", ["Mock.test", "*.mock.test", "[::1]"], ("mock.test", "*.mock.test", "::1")),
        ("control_token", "secret", "secret"),
        ("max_body", "2KiB", 2048),
        ("timing", {"first_token": "300ms", "per_token": 0.012, "jitter": "20%"}, Timing(0.3, 0.012, 0.2)),
        ("timing", "fast", PROFILES["fast"]),
        ("profiles", {"mine": {"profile": "fast", "jitter": 0}}, {"mine": replace(PROFILES["fast"], jitter=0.0)}),
    ],
)
def test_values_of_a_file(name: str, value: Any, expected: Any) -> None:
    assert getattr(of_values(**{name: value}), name) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("PORT", "0", 0),
        ("RELOAD", "no", False),
        ("KEYS", "123,sk-b", {"123": KeySettings(), "sk-b": KeySettings()}),
        ("KEYS", "{sk-a: {allowed: false}}", {"sk-a": KeySettings(allowed=False)}),
        (
            "MODELS",
            "{gpt-4o: {context_window: 9}, o3: {}}",
            {"gpt-4o": ModelSettings(context_window=9), "o3": ModelSettings()},
        ),
        ("TIMING", "slow", PROFILES["slow"]),
    ],
)
def test_values_of_a_variable(name: str, text: str, expected: Any) -> None:
    assert getattr(assemble({}, {f"MOCKSERVER_{name}": text}, []), name.lower()) == expected


def test_validation_by_dialect() -> None:
    settings = assemble({}, {"MOCKSERVER_VALIDATION": "{openai: off, gemini: live}"}, [])
    modes = [settings.find_validation(name) for name in ("openai", "gemini", "azure")]
    assert modes == [Validation.OFF, Validation.LIVE, Validation.PUBLISHED]


def test_variables_of_others_and_empty_ones_are_left_alone() -> None:
    environ = {"PATH": "/bin", "MOCKSERVER_PORT": "", "MOCKSERVER_LOG_LEVEL": "INFO", "mockserver_seed": "x"}
    assert assemble({}, environ, []) == Settings()


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("prot: 1", '3: unknown setting "prot"; did you mean "port"?'),
        ('port: "8000"', '9: port must be a whole number, not "8000"'),
        ("port: 70000", "9: port must be at most 65535, not 70000"),
        ("host: ''", '9: host must be a string that is not empty, not ""'),
        ("host: 127", "9: host must be a string, not 127; put it in quotes"),
        ("reload: 1", "11: reload must be true or false, not 1"),
        (
            "validation: lenient",
            '15: validation must be live, published or off, not "lenient"',
        ),
        (
            "validation: {openai: of}",
            '24: validation.openai must be live, published or off, not "of"; did you mean "off"?',
        ),
        (
            "validation: 1",
            "15: validation must be live, published, off, or a table by dialect such as {openai: off}, not 1",
        ),
        (
            "validation: {opnai: off}",
            '16: validation: a dialect must be one of azure, openai, not "opnai"; did you mean "openai"?',
        ),
        ("dialect: azur", '12: dialect must be one of azure, openai, not "azur"; did you mean "azure"?'),
        ("unmatched: genrate", '14: unmatched must be generate or error, not "genrate"; did you mean "generate"?'),
        (
            "clock: noon",
            '10: clock must be frozen, real, Unix seconds or a time such as 2024-05-01T12:00:00Z, not "noon"',
        ),
        (
            "cors: https://app.example/x",
            '9: cors must be a list of origins, such as https://app.example, or *, not "https://app.example/x"',
        ),
        (
            "allowed_hosts: [mock.test:80]",
            '18: allowed_hosts must be a list of host names without ports, such as mock.test, not ["mock.test:80"]',
        ),
        ("control_token: se cret", "18: control_token: must be printable ASCII without spaces"),
        ("keys: 7", "9: keys must be a list of strings, not 7"),
        (
            "models: {a: 7}",
            '11: models must be a list of names, or a table that gives each name a table of properties, not {"a": 7}',
        ),
        ("keys: {a: 7}", "13: keys.a must be a table of what it may do, such as {} or {allowed: false}, not 7"),
        ("keys: {a: {allow: no}}", '14: unknown setting "allow"; did you mean "allowed"?'),
        ("limits: {queue: 3}", "11: limits: queue requires concurrent_requests"),
        (
            "limits: {concurent_requests: 1}",
            '12: unknown setting "concurent_requests"; did you mean "concurrent_requests"?',
        ),
        ("keys: [a, 7]", "13: keys[1] must be a string, not 7; put it in quotes"),
        ("models: {a: {tool: yes}}", '16: unknown setting "tool"; did you mean "tools"?'),
        ('models: {a: {aliases: ["b*"]}}', '26: models.a.aliases[0]: must be a name without *, not "b*"'),
        ('models: {a: {resolved: "b*"}}', '26: models.a.resolved: must be a name without *, not "b*"'),
        (
            'models: {"a*": {aliases: b}}',
            "28: models.a*.aliases[0]: a pattern cannot have aliases; only a name can",
        ),
        (
            "models: {a: {aliases: [c, b]}, b: }",
            '29: models.a.aliases[1]: "b" is already the name of a model',
        ),
        (
            "models: {a: {aliases: [c]}, b: {aliases: [c]}}",
            '45: models.b.aliases[0]: "c" is already an alias of "a"',
        ),
        (
            "max_body: 10 potatoes",
            '13: max_body must be a size such as 10MB, 512KiB or a whole number of bytes, not "10 potatoes"',
        ),
        ("timing: 7", "11: timing must be a table or the name of a profile, not 7"),
        ("timing: {per_token: 1, tokens_per_second: 1}", "11: timing: give per_token or tokens_per_second, not both"),
        ("profiles: {a: {profle: slow}}", '18: unknown setting "profle"; did you mean "profile"?'),
    ],
)
def test_mistakes_in_a_file_are_told_with_their_place(setting: str, said: str) -> None:
    assert mistakes(f"settings:\n  {setting}") == [f"rules.yaml:2:{said}  [{setting}]"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("MOCKSERVER_PORT", "eighty", 'MOCKSERVER_PORT must be a whole number, not "eighty"'),
        ("MOCKSERVER_PROT", "80", 'unknown setting "MOCKSERVER_PROT"; did you mean "MOCKSERVER_PORT"?'),
        (
            "MOCKSERVER_DIALECT",
            "opnai",
            'MOCKSERVER_DIALECT must be one of azure, openai, not "opnai"; did you mean "openai"?',
        ),
        (
            "MOCKSERVER_TIMING",
            "{jitter: a}",
            "MOCKSERVER_TIMING.jitter must be a percentage such as 20% or 0.2, {normal: 20%} or {lognormal: 30%}, not "
            '"a"',
        ),
        (
            "MOCKSERVER_TIMING",
            "{total: 1, total: 2}",
            'MOCKSERVER_TIMING is not valid YAML: duplicate key "total"; it is already on line 1 (column 12 of ',
        ),
    ],
)
def test_mistakes_in_a_variable_are_told_with_its_name(name: str, text: str, said: str) -> None:
    (told,) = mistakes(environ={name: text})
    assert told.startswith(said)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("port", "eighty", '--port must be a whole number, not "eighty"'),
        ("max_body", "big", '--max-body must be a size such as 10MB, 512KiB or a whole number of bytes, not "big"'),
        ("unmatched", "x", '--unmatched must be generate or error, or a table such as {status: 501}, not "x"'),
    ],
)
def test_mistakes_in_a_flag_are_told_with_its_name(name: str, value: str, said: str) -> None:
    assert mistakes(flags={name: value}) == [said]


def test_mistakes_in_a_keyword_are_told_with_its_name() -> None:
    with pytest.raises(ConfigError, match=r'^replay_speed must be a number, not "x"$'):
        assemble({"replay_speed": "x"}, {}, [], spelling=KEYWORDS)


def test_all_mistakes_are_told_at_once() -> None:
    told = mistakes("settings: {port: x, seed: y}", {"MOCKSERVER_IDS": "z"}, {"log": "w"})
    assert [line.partition(" must")[0] for line in told] == [
        "rules.yaml:1:18: port",
        "rules.yaml:1:27: seed",
        "MOCKSERVER_IDS",
        "--log",
    ]


def test_all_wrong_names_are_told_beside_other_mistakes() -> None:
    text = """settings:
  seed: y
  dialect: opnai
  upstream: {nada: "http://a.example", mcp/files: "http://a.example", zip: "http://b.example"}
  hosts: {v1: {}, ns: {}, mine: {}}
  validation: {mine: "off", zip: "off"}
  log: json
"""
    settings, found = assemble_valid({}, {}, [read(text, "rules.yaml")], dialects=("azure", "openai"))
    assert [str(each).partition(": ")[0] for each in found] == [
        "rules.yaml:2:9",
        "rules.yaml:3:12",
        "rules.yaml:4:14",
        "rules.yaml:4:71",
        "rules.yaml:5:15",
        "rules.yaml:5:23",
        "rules.yaml:6:16",
        "rules.yaml:6:29",
    ]
    assert show_settings(settings) == {"log": "json"}


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:abc/w",
        "http://localhost:99999/w",
        "http://localhost:0",
        "http://[::1/w",
        "localhost:1",
        "http://",
    ],
)
def test_addresses_that_lead_nowhere_are_refused(url: str) -> None:
    text = f"settings: {{webhook_url: '{url}'}}"
    example = "an http(s) address such as http://localhost:3000/webhooks"
    assert mistakes(text)[0].startswith(f'rules.yaml:1:25: webhook_url must be {example}, not "{url}"')
    assert "must be http(s) addresses without a query" in mistakes(f"settings: {{upstream: {{openai: '{url}'}}}}")[0]


@pytest.mark.parametrize("secret", ["mine", "whsec_", "whsec_?"])
def test_a_secret_of_webhooks_is_base64_and_is_not_quoted(secret: str) -> None:
    assert mistakes(flags={"webhook_secret": secret}) == [
        "--webhook-secret: write whsec_ and base64 behind it, as in whsec_c2VjcmV0"
    ]


def test_an_upstream_of_no_dialect() -> None:
    told = 'a dialect must be one of azure, openai, not "opnai"; did you mean "openai"?'
    document = read('settings: {upstream: {opnai: "https://x.example"}}', "r.yaml")
    for flags, documents, where in (
        ({"upstream": "opnai=https://x.example"}, [], "--"),
        ({}, [document], "r.yaml:1:23: "),
    ):
        with pytest.raises(ConfigError) as caught:
            assemble(flags, {}, documents, dialects=("azure", "openai"))
        assert str(caught.value).startswith(f"{where}upstream: {told}")


def test_the_name_of_a_key_that_looks_misspelt_is_told(caplog: pytest.LogCaptureFixture) -> None:
    keys = ("OPENAO", "OPENAI", "AZURE", "MCP_FILSE", "MCP_FILES", "SOMETHING_ELSE")
    environ = {f"MOCKSERVER_UPSTREAM_KEY_{key}": "sk-1" for key in keys}
    environ |= {f"MOCKSERVER_{name}": "sk-1" for name in ("UPSTEAM_KEY_OPENAI", "KEY_OPENAI", "MCP_KEY", "X")}
    assemble({"upstream": "mcp/files=https://a.test"}, environ, [], dialects=("azure", "openai"))
    assert caplog.messages == [
        'MOCKSERVER_UPSTREAM_KEY_OPENAO is the key of no upstream; did you mean "OPENAI"?',
        'MOCKSERVER_UPSTREAM_KEY_MCP_FILSE is the key of no upstream; did you mean "MCP_FILES"?',
        'MOCKSERVER_UPSTEAM_KEY_OPENAI is the key of no upstream; did you mean "MOCKSERVER_UPSTREAM_KEY_OPENAI"?',
        'MOCKSERVER_KEY_OPENAI is the key of no upstream; did you mean "MOCKSERVER_UPSTREAM_KEY_OPENAI"?',
    ]
