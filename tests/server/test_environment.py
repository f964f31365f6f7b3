"""The variables that lead clients to a server of ours."""

from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.server.run import KEY, environment
from tests.kit.local import local

ADDRESS = "http://127.0.0.1:8123"


def test_every_client_is_led_to_its_own_dialect() -> None:
    found = environment(ADDRESS, local().live.settings, {})
    assert found["MOCKSERVER_URL"] == ADDRESS
    assert found["OPENAI_BASE_URL"] == f"{ADDRESS}/openai/v1"
    assert found["FIREWORKS_BASE_URL"] == f"{ADDRESS}/fireworks/inference"
    assert found["LIGHTCONE_BASE_URL"] == f"{ADDRESS}/tzafon"
    assert found["AZURE_OPENAI_ENDPOINT"] == f"{ADDRESS}/azure-openai"
    assert found["AZURE_AI_API_BASE"] == f"{ADDRESS}/azure"
    assert {found[name] for name in found if name.endswith(("_KEY", "_CREDENTIAL"))} == {KEY}


def test_the_key_is_one_that_is_accepted() -> None:
    found = environment(ADDRESS, local(keys=["sk-first", "sk-second"]).live.settings, {"OPENAI_API_KEY": "sk-real"})
    assert found["OPENAI_API_KEY"] == found["TZAFON_API_KEY"] == "sk-first"


def test_a_version_that_is_set_stays() -> None:
    settings = local().live.settings
    assert environment(ADDRESS, settings, {})["OPENAI_API_VERSION"] == "2024-10-21"
    assert environment(ADDRESS, settings, {"OPENAI_API_VERSION": "2025-01-01"})["OPENAI_API_VERSION"] == "2025-01-01"


def test_a_dialect_that_openais_client_speaks_gets_that_client() -> None:
    for dialect, base in (("skytells", "/skytells/v1"), ("crazyrouter", "/crazyrouter/v1"), ("tzafon", "/openai/v1")):
        found = environment(ADDRESS, local(dialect=dialect).live.settings, {})
        assert found["OPENAI_BASE_URL"] == found["OPENAI_API_BASE"] == ADDRESS + base


REAL = {"OPENAI_API_KEY": "sk-real", "FIREWORKS_API_KEY": "fw-real"}


@pytest.mark.parametrize(
    ("settings", "environ", "key"),
    [
        ({"upstream": "openai=https://a.test"}, REAL, "sk-real"),
        ({"upstream": "openai=https://a.test"}, {**REAL, "MOCKSERVER_UPSTREAM_KEY_OPENAI": "sk-other"}, KEY),
        ({"upstream": "openai=https://a.test", "keys": ["sk-own"]}, REAL, "sk-own"),
        ({"upstream": "openai=https://a.test"}, {}, KEY),
        ({"upstream": "tzafon=https://a.test"}, REAL, KEY),
        ({"upstream": "skytells=https://a.test", "dialect": "skytells"}, REAL, "sk-real"),
        ({"upstream": "skytells=https://a.test"}, REAL, KEY),
    ],
)
def test_a_real_key_stays_where_its_upstream_is_asked_with_it(
    settings: Mapping[str, Any], environ: Mapping[str, str], key: str
) -> None:
    found = environment(ADDRESS, local(**settings).live.settings, environ)
    assert (found["OPENAI_API_KEY"], found["FIREWORKS_API_KEY"]) == (key, settings.get("keys", [KEY])[0])


def test_no_proxy_stands_between() -> None:
    settings = local().live.settings
    assert environment(ADDRESS, settings, {})["NO_PROXY"] == "127.0.0.1,localhost,::1"
    told = environment(ADDRESS, settings, {"NO_PROXY": "corp.test, localhost", "no_proxy": "*"})
    assert (told["NO_PROXY"], told["no_proxy"]) == ("corp.test,localhost,127.0.0.1,::1", "*")
