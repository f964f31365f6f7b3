"""Flags for settings, and the files that a command reads."""

from pathlib import Path

import click
import pytest

from mockserver.cli.options import DEFAULT_RULES, GROUPS, REPEATED, add_setting_flags, find_server_sources, find_sources
from mockserver.config.settings import Settings
from tests.kit.program import run


def test_a_flag_is_described_by_its_setting() -> None:
    @click.command()
    @add_setting_flags("port", "source_headers", "ids")
    def command(**flags: object) -> None: ...

    port, headers, ids = command.params
    assert isinstance(port, click.Option)
    assert isinstance(headers, click.Option)
    assert (port.opts, port.help) == (["--port"], f"{Settings.model_fields['port'].description} [8000]")
    assert (headers.opts, headers.secondary_opts) == (["--source-headers"], ["--no-source-headers"])
    assert (port.metavar, ids.metavar) == ("…", "stable|unique")


def test_help_shows_every_setting_once_in_its_group_with_its_default() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(Settings.model_fields)
    for command in ("serve", "run", "faults"):
        shown = " ".join(run(command, "--help").out.split())
        places = [shown.index(f"{group}: --{names[0].replace('_', '-')}") for group, names in GROUPS.items()]
        assert places == sorted(places)
        for default in ("[127.0.0.1]", "[8000]", "[frozen]", "[published]", "[reload]", "[50MB]", "[0]"):
            assert default in shown


@pytest.mark.parametrize(
    ("words", "upstream"),
    [([], None), (["--upstream", "a=1"], "a=1"), (["--upstream", "a", "--upstream", "b"], ["a", "b"])],
)
def test_some_flags_are_repeatable(words: list[str], upstream: object) -> None:
    @click.command()
    @add_setting_flags("upstream", "port")
    def command(**flags: object) -> dict[str, object]:
        return flags

    assert set(REPEATED) <= set(Settings.model_fields)
    parsed = command.main([*words, "--port", "1", "--port", "2"], standalone_mode=False)
    assert parsed == {"upstream": upstream, "port": "2"}


def test_sources_are_the_named_files_or_the_default_and_the_given_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_sources((), {}).files == ()
    DEFAULT_RULES.write_text("")
    assert find_sources((), {}).files == (DEFAULT_RULES,)
    assert find_sources((Path("b.yaml"),), {}).files == (Path("b.yaml"),)
    assert find_sources((), {"port": "1", "seed": None, "reload": False}).flags == {"port": "1", "reload": False}
    flags = find_server_sources((), {"port": "1", "host": None, "seed": None}).flags
    assert flags == {"host": "127.0.0.1", "port": "1"}
