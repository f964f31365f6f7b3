"""The environment that leads official clients to a server, and the base URL of each dialect."""

from collections.abc import Mapping

from mockserver.config.recording import UPSTREAM_KEY
from mockserver.config.settings import Settings
from mockserver.dialects import discover

KEY = "sk-mockserver"
ADDRESS = "MOCKSERVER_URL"  # for programs that put together a base of their own
NEAR = ("127.0.0.1", "localhost", "::1")  # what no proxy can reach for us
_OPENAI = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def environment(address: str, settings: Settings, environ: Mapping[str, str]) -> Mapping[str, str]:
    """The variables to set for clients of a server at this address, besides those of `environ`.

    OpenAI's client speaks dialects without variables of their own: it is led to such a `dialect` of the settings. A
    real key stays only if an upstream needs it.
    """
    facts = {"address": address, "key": next((key for key, its in (settings.keys or {}).items() if its.allowed), KEY)}
    spoken = discover()[settings.dialect]
    found = {ADDRESS: address}
    for dialect in discover().values():
        asked = spoken if not spoken.variables and _OPENAI[0] in dialect.variables else dialect
        own = asked.name in settings.upstream and settings.keys is None
        for name, text in dialect.variables.items():
            said = text.format_map(facts)
            stays = said == text or (own and text == "{key}" and not environ.get(UPSTREAM_KEY + asked.name.upper()))
            found[name] = (environ.get(name) or said) if stays else said
    if not spoken.variables:
        found |= dict.fromkeys(_OPENAI, address + spoken.mounts[0])
    for name in ("NO_PROXY", "no_proxy"):
        listed = environ.get(name, "")
        hosts = list(filter(None, map(str.strip, listed.split(","))))
        found[name] = listed if "*" in hosts else ",".join(dict.fromkeys((*hosts, *NEAR)))
    return found


def key_in(env: Mapping[str, str], dialect: str) -> str:
    """The key that the dialect's own client takes from an environment; OpenAI's, if it reads none of its own."""
    variables = discover()[dialect].variables or discover()["openai"].variables
    return env[next(name for name, text in variables.items() if text == "{key}")]


def base_url(address: str, dialect: str) -> str:
    spoken = discover()[dialect]
    texts = (text for text in spoken.variables.values() if "{address}" in text)
    return next(texts, "{address}" + spoken.mounts[0]).format(address=address)
