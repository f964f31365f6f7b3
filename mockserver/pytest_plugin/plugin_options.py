"""What the plugin is called by: its markers and fixtures, the options of the command line and the keys of the ini file.

Imported with the plugin, so it needs nothing but pytest.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

MARK = "mockserver"
FAULT_MARK = "mockserver_faults"
FIXTURE = "mockserver"
SESSION_FIXTURE = "mockserver_session"
FAULT = "mockserver_fault"  # the parameter of a test that runs once per fault
CASSETTE = "mockserver_cassette"  # the attribute of reports for the cassette that the test replayed


def is_marked(item: pytest.Item) -> bool:
    """Return whether a test has a mark of ours, which requests the fixture."""
    mark = item.get_closest_marker(MARK) or item.get_closest_marker(FAULT_MARK)
    return mark is not None and isinstance(item, pytest.Function)


def uses_server(item: pytest.Item) -> bool:
    """Return whether a test has a mark or a fixture of ours."""
    names = getattr(item, "fixturenames", ())
    return FIXTURE in names or SESSION_FIXTURE in names or is_marked(item)


class PluginOption(NamedTuple):
    """An option: what it is about, and which values it takes.

    `kind` is pytest's, of the value in the ini file; all but texts can be repeated on the command line.
    """

    about: str
    kind: Literal["string", "bool", "args", "linelist", "paths"] = "string"
    metavar: str | None = None
    choices: Sequence[str] | None = None
    parse: Callable[[str], Any] = str
    is_path: bool = False

    @property
    def arguments(self) -> Mapping[str, Any]:
        """How the parser of the command line takes it."""
        action = "store" if self.kind == "string" else "append"
        return {"action": action, "metavar": self.metavar, "choices": self.choices, "type": self.parse}


# Of the server: on the command line (--mockserver-seed) and in the ini file (mockserver_seed).
OPTIONS: Mapping[str, PluginOption] = {
    "rules": PluginOption(
        "a rules file for tests whose mark names none; repeatable", kind="paths", metavar="FILE", is_path=True
    ),
    "seed": PluginOption("the seed of everything generated", parse=int),
    "dialect": PluginOption("the dialect of bare paths"),
    "unmatched": PluginOption(
        "what to do if no rule matches: error (default) or generate", choices=("error", "generate")
    ),
    "lint": PluginOption(
        "what to do about answers that no model could give: warn (default), error or off",
        choices=("warn", "error", "off"),
    ),
    "replay": PluginOption(
        "what to do about histories that the live provider would refuse: warn (default), error or off",
        choices=("warn", "error", "off"),
    ),
    "record": PluginOption(
        "what to record into the cassettes of tests",
        choices=("none", "once", "new_episodes", "all"),  # RECORD_MODES, which are slow to import
    ),
    "upstream": PluginOption(
        "the provider's base URL, for recording: openai=https://api.openai.com/v1",
        kind="linelist",
        metavar="DIALECT=URL",
    ),
    "cassettes": PluginOption("the folder of cassettes (default: `cassettes` next to the test file)", is_path=True),
    "allow_hosts": PluginOption("a provider's host that tests may connect to; repeatable", kind="args", metavar="HOST"),
}


def name_flag(option: str) -> str:
    """Return the flag of an option on pytest's command line."""
    return f"--mockserver-{option.replace('_', '-')}"


RECORD_IN_CI = "--mockserver-record-in-ci"
INSPECT = "--mockserver-inspect"
FOOTPRINT_VALUES = ("mockserver_footprint_growth", "mockserver_footprint_prices")  # keys whose values are parsed
FOOTPRINT_FLAGS: Mapping[str, str] = {
    "--mockserver-footprint": "fail tests that use more calls or tokens than the footprint file says",
    "--mockserver-footprint-update": "write the calls and tokens of the tests that pass into the footprint file",
    "--mockserver-footprint-prune": "update, and remove the entries of deleted tests",
}
FLAGS: Mapping[str, str] = {
    RECORD_IN_CI: "allow recording under CI",
    INSPECT: "keep the server of the first failed test until Ctrl-C, and print the address of its inspector",
    **FOOTPRINT_FLAGS,
}

COVERAGE = PluginOption(
    "report which rules were used: term, html, html:FOLDER, json or json:FILE; repeatable", kind="args", metavar="KIND"
)

# In the ini file only.
INI_KEYS: Mapping[str, PluginOption] = {
    "mockserver_unused": PluginOption(
        "what to do about rules that no test used: ignore, warn (default) or fail", choices=("ignore", "warn", "fail")
    ),
    "mockserver_footprint": PluginOption("the footprint file (default: `mockserver-footprint.yaml` in pytest's root)"),
    "mockserver_footprint_growth": PluginOption("by how much a test may exceed its footprint (default: 10%)"),
    "mockserver_footprint_prices": PluginOption(
        "prices per million tokens, a model a line: gpt-4o*: prompt 2.50, cached 1.25, completion 10", kind="linelist"
    ),
    "mockserver_footprint_texts": PluginOption("keep the texts of prompts in the footprint file, too", kind="bool"),
    "mockserver_env": PluginOption(
        "how long environment variables point clients to the server: test (default), session",
        choices=("test", "session"),
    ),
    "mockserver_unplayed": PluginOption(
        "what to do about cassette episodes that no test used: warn (default), fail or ignore",
        choices=("warn", "fail", "ignore"),
    ),
}

MARKERS: Mapping[str, str] = {
    f"{MARK}(rules=, cassette=, unmatched=, timing=, seed=, dialect=, ...)": (
        "configure the test's server; the closest mark wins, key by key"
    ),
    f"{FAULT_MARK}(*faults, positions=, errors=, limit=, expect=, allow=, ...)": (
        "run the test once per fault and show how it copes"
    ),
}


def add_options(parser: pytest.Parser) -> None:
    """Add all options to pytest's."""
    group = parser.getgroup("mockserver", "mock servers for LLM APIs")
    for name, option in OPTIONS.items():
        group.addoption(name_flag(name), dest=f"mockserver_{name}", default=None, help=option.about, **option.arguments)
        parser.addini(f"mockserver_{name}", option.about, type=option.kind)
    for flag, about in FLAGS.items():
        group.addoption(flag, action="store_true", help=about)
    group.addoption("--mockserver-coverage", default=[], help=COVERAGE.about, **COVERAGE.arguments)
    parser.addini("mockserver_coverage", COVERAGE.about, type=COVERAGE.kind)
    for name, option in INI_KEYS.items():
        parser.addini(name, option.about, type=option.kind)


def check_options(config: pytest.Config) -> None:
    """Raise UsageError for options that cannot be."""
    options = {**{f"mockserver_{name}": option for name, option in OPTIONS.items()}, **INI_KEYS}
    for key, option in options.items():
        if (value := config.getini(key)) and (mistake := _find_mistake(option, value)):
            raise pytest.UsageError(f"{name_ini_file(key, config)}{key} {mistake}")
    if not may_record(config) and (config.getoption("mockserver_record") or "none") != "none":
        raise pytest.UsageError(
            f"recording is disabled under CI (the variable CI is set); pass {RECORD_IN_CI} to allow it"
        )
    if config.getoption(INSPECT) and has_workers(config):
        raise pytest.UsageError(f"{INSPECT} waits for you, which workers cannot; run without -n")


def _find_mistake(option: PluginOption, value: Any) -> str | None:
    """Return what is wrong with a value in the ini file. Tests may write the files that it names."""
    if option.choices is not None and value not in option.choices:
        return f"must be one of {', '.join(option.choices)}, not {value!r}"
    if option.parse is int and not value.lstrip("-").isdecimal():
        return f"must be a whole number, not {value!r}"
    return None


def name_ini_file(key: str, config: pytest.Config) -> str:
    """Return how a message about a key begins: with the ini file, unless `-o` gives the key."""
    return "" if config.inipath is None or key in list_overridden_keys(config) else f"{config.inipath.name}: "


def find_unknown_keys(config: pytest.Config) -> Sequence[str]:
    """Return the keys of the ini file, and of `-o`, that look like ours and are nobody's; pytest itself only warns."""
    kept = vars(config)
    in_file = kept.get("_inicfg", kept.get("inicfg", ()))  # as pytest names them since version 9, and before
    all_keys = (*in_file, *list_overridden_keys(config))
    names = dict.fromkeys(name for name in all_keys if name.startswith(("mockserver_", "mockserver-")))
    return [name for name in names if not _is_known(name, config)]


def list_overridden_keys(config: pytest.Config) -> Sequence[str]:
    """Return the keys of the ini file that `-o` gives."""
    return [each.partition("=")[0].strip() for each in config.known_args_namespace.override_ini or ()]


def list_stated_keys(config: pytest.Config) -> Sequence[str]:
    """Return the keys of the ini file for options of the server that have a value, but those of the command line."""
    given = vars(config.known_args_namespace)
    keys = (f"mockserver_{name}" for name in OPTIONS)
    return [key for key in keys if given[key] is None and config.getini(key)]


def _is_known(key: str, config: pytest.Config) -> bool:
    try:
        config.getini(key)
    except ValueError:
        return False
    return True


def has_workers(config: pytest.Config) -> bool:
    """Return whether others run the tests, as with pytest-xdist."""
    return config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")


def read_options(config: pytest.Config) -> dict[str, Any]:
    """Return the options of the command line, which may not be parsed to its end yet, and of the ini file."""
    given = vars(config.known_args_namespace)
    found: dict[str, Any] = {}
    for name, option in OPTIONS.items():
        if (value := given[f"mockserver_{name}"]) is not None:
            found[name] = _resolve_paths(config.invocation_params.dir, value) if option.is_path else value
        elif value := config.getini(f"mockserver_{name}"):
            found[name] = _resolve_paths(config.rootpath, value) if option.is_path else value
    if not may_record(config):
        found.pop("record", None)
    return found


def _resolve_paths(folder: Path, value: str | list[str] | list[Path]) -> Any:
    return [folder / file for file in value] if isinstance(value, list) else folder / value


def may_record(config: pytest.Config) -> bool:
    """Return whether cassettes may be recorded, as under CI only if a flag says so."""
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false", "no")
    return not in_ci or bool(config.known_args_namespace.mockserver_record_in_ci)
