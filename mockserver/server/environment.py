"""The environment in which the official clients, left to themselves, come to a server of ours."""

from collections.abc import Iterable, Mapping

from mockserver.dialects import discover
from mockserver.kinds.cassettes import UPSTREAM_KEY
from mockserver.settings import Settings

KEY = "sk-mockserver"
ADDRESS = "MOCKSERVER_URL"  # for programs that put together a base of their own
NEAR = ("127.0.0.1", "localhost", "::1")  # what no proxy can reach for us
_OPENAI = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def environment(address: str, settings: Settings, environ: Mapping[str, str]) -> Mapping[str, str]:
    """The variables to set beside those of `environ`, for a server at this address.

    A dialect whose clients read no variables of their own is spoken by OpenAI's client: where the setting `dialect`
    names such a one, that client is led there. A real key stays only where its upstream is to be asked with it.
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
        found[name] = _besides(environ.get(name, ""), NEAR)
    return found


def key_in(env: Mapping[str, str], dialect: str) -> str:
    """The key that the dialect's own client takes from an environment; OpenAI's, where it reads none of its own."""
    variables = discover()[dialect].variables or discover()["openai"].variables
    return env[next(name for name, text in variables.items() if text == "{key}")]


def base_url(address: str, dialect: str) -> str:
    """What the dialect's own client takes as its base, for a server at this address."""
    spoken = discover()[dialect]
    told = (text for text in spoken.variables.values() if "{address}" in text)
    return next(told, "{address}" + spoken.mounts[0]).format(address=address)


def _besides(listed: str, hosts: Iterable[str]) -> str:
    """A list of hosts with these in it too."""
    names = [name for part in listed.split(",") if (name := part.strip())]
    return listed if "*" in names else ",".join((*names, *(host for host in hosts if host not in names)))
