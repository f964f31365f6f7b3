"""The servers of providers: the dialect that each speaks, and where its URLs lead here."""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from mockserver.core.http import Headers
from mockserver.core.origins import is_loopback


class LocalTarget(NamedTuple):
    """A path of a dialect here, and the operation there."""

    path: str
    operation: str


class ProviderHost(NamedTuple):
    """A host of a provider, and its dialect; `path`: what paths contain, if the host serves several dialects."""

    host: re.Pattern[str]
    path: str
    dialect: str


class DialectRoutes(Struct, frozen=True):
    """The paths and operations of the dialects, for those who import recordings.

    `mounts`: the paths of each; `operation`: what a method and path reach; `decode`: a body without its content
    codings, which raises ValueError if they cannot be undone.
    """

    mounts: Mapping[str, tuple[str, ...]]
    operation: Callable[[str, str], str | None]
    decode: Callable[[Headers, bytes], bytes] = lambda headers, body: body


def find_dialect(url: str, routes: DialectRoutes) -> str | None:
    """Return the dialect of a URL, or the host of several that speak one: by its own host or, for a server on this
    machine, by its path. None if no provider is known.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if is_loopback(host) or not host:
        path = _remove_namespace(parts.path)
        if path.startswith(_AZURE_OPENAI):
            return "azure_openai"
        every = ((mount, name) for name, mounts in routes.mounts.items() for mount in mounts)
        mounted = [(len(mount), name) for mount, name in every if path.startswith(f"{mount}/")]
        bare = "openai" if path.startswith("/v1/") else "ollama" if path.startswith("/api/") else None
        return max(mounted)[1] if mounted else "ollama" if parts.port == _OLLAMA_PORT else bare
    served = [row for row in _HOSTS if row.host.fullmatch(host) and row.path in parts.path]
    return max(served, key=lambda row: len(row.path)).dialect if served else None


def find_dialect_at(host: str) -> str | None:
    """Return the first dialect, or host of one, at an address in lower case; None if the provider is unknown."""
    return next((row.dialect for row in _HOSTS if row.host.fullmatch(host)), None)


def find_local_target(method: str, url: str, *, dialect: str, routes: DialectRoutes) -> LocalTarget | None:
    """Return what a URL of this dialect reaches here, or None if the dialect has no such operation."""
    segments = unquote(_remove_namespace(urlsplit(url).path)).split("/")[1:]
    tails = ["/".join(segments[at:]) for at in range(len(segments))]
    paths = (f"{mount}/{tail}" for tail in tails for mount in routes.mounts[dialect])
    for path in sorted(paths, key=_count_repeats):  # what a mount and a tail have in common is said once
        if operation := routes.operation(method, path):
            return LocalTarget(path, operation)
    return None


def _count_repeats(path: str) -> int:
    """Return how often a segment follows its like, as in `/v1/v1`."""
    return sum(one == other for one, other in pairwise(path.split("/")))


def _remove_namespace(path: str) -> str:
    return _NAMESPACE.sub("/", path, count=1)


_NAMESPACE = re.compile(r"^/ns/[^/]+/")
_OLLAMA_PORT = 11434
_AZURE_OPENAI = "/azure/openai/"  # where azure and azure_openai have the same address
_HOSTS = tuple(
    ProviderHost(re.compile(host), path, dialect)
    for host, path, dialect in (
        (r"(?:[a-z]{2}\.)?api\.openai\.com", "/", "openai"),
        (r"[^.]+\.openai\.azure\.(?:com|us|cn)", "/", "azure_openai"),
        (r"[^.]+\.(?:cognitiveservices|services\.ai)\.azure\.com", "/openai/", "azure_openai"),
        (r"[^.]+\.services\.ai\.azure\.com", "/", "azure"),
        (r"models\.inference\.ai\.azure\.com", "/", "azure"),
        (r"(?:[^.]+\.)+(?:inference|models|inference\.ml)\.(?:ai\.)?azure\.com", "/", "azure"),
        (r"models\.github\.ai", "/", "azure"),
        (r"api\.fireworks\.ai", "/", "fireworks"),
        (r"api\.cerebras\.ai", "/", "cerebras"),
        (r"api\.deepseek\.com", "/", "deepseek"),
        (r"api\.groq\.com", "/", "groq"),
        (r"openrouter\.ai", "/", "openrouter"),
        (r"api\.perplexity\.ai", "/", "perplexity"),
        (r"api\.together\.(?:ai|xyz)", "/", "together"),
        (r"(?:[a-z0-9-]+\.)?api\.x\.ai", "/", "xai"),
        (r"api\.(?:tzafon|lightcone)\.ai", "/", "tzafon"),
        (r"api\.skytells\.ai", "/", "skytells"),
        (r"(?:api\.)?crazyrouter\.com", "/", "crazyrouter"),
        (
            r"bedrock(?:-runtime|-agent-runtime)?(?:-fips)?\.[^.]+\.(?:amazonaws\.com(?:\.cn)?|api\.aws)",
            "/",
            "bedrock",
        ),
        (r"bedrock-mantle\.[a-z0-9-]+\.api\.aws", "/anthropic/", "anthropic"),
        (r"api\.anthropic\.com", "/", "anthropic"),
        (r"(?:api|codestral)\.mistral\.ai", "/", "mistral"),
        (r"(?:www\.)?ollama\.com", "/", "ollama"),
        (r"api\.cohere\.(?:com|ai)", "/", "cohere"),
        (r"api\.voyageai\.com", "/", "voyage"),
        (r"api\.jina\.ai", "/", "jina"),
        (r"generativelanguage\.googleapis\.com|(?:[a-z0-9-]+-)?aiplatform\.googleapis\.com", "/", "gemini"),
        # What providers serve for the clients of others.
        (r"generativelanguage\.googleapis\.com", "/v1beta/openai/", "openai"),
        (r"api\.anthropic\.com", "/v1/chat/completions", "openai"),
        (r"api\.cohere\.(?:com|ai)", "/compatibility/", "openai"),
        (r"bedrock(?:-runtime)?\.[^.]+\.amazonaws\.com", "/openai/", "openai"),
        (r"[^.]+\.services\.ai\.azure\.com", "/anthropic/", "anthropic"),
        (r"(?:[a-z0-9-]+-)?aiplatform\.googleapis\.com", "/publishers/anthropic/", "anthropic"),
        (r"api\.deepseek\.com", "/anthropic/", "anthropic"),
    )
)

# The servers of providers, by the mount of their dialect. The name of an Azure resource is unknown here.
ADDRESSES: Mapping[str, str] = {
    "/openai/v1": "https://api.openai.com/v1",
    "/azure-openai": "https://resource.openai.azure.com",
    "/azure/anthropic": "https://resource.services.ai.azure.com/anthropic",
    "/azure": "https://resource.services.ai.azure.com",
    "/fireworks/inference/v1": "https://api.fireworks.ai/inference/v1",
    "/fireworks/v1": "https://api.fireworks.ai/inference/v1",
    "/fireworks/inference/v1/v1": "https://api.fireworks.ai/inference/v1",
    "/cerebras/v1": "https://api.cerebras.ai/v1",
    "/cerebras": "https://api.cerebras.ai",
    "/deepseek/beta": "https://api.deepseek.com/beta",
    "/deepseek/v1": "https://api.deepseek.com/v1",
    "/deepseek/anthropic": "https://api.deepseek.com/anthropic",
    "/deepseek": "https://api.deepseek.com",
    "/groq/openai/v1": "https://api.groq.com/openai/v1",
    "/groq/v1": "https://api.groq.com/openai/v1",
    "/groq": "https://api.groq.com/openai/v1",
    "/openrouter/api/v1": "https://openrouter.ai/api/v1",
    "/openrouter/v1": "https://openrouter.ai/api/v1",
    "/openrouter": "https://openrouter.ai/api/v1",
    "/perplexity": "https://api.perplexity.ai",
    "/together/v1": "https://api.together.ai/v1",
    "/together": "https://api.together.ai",
    "/xai/v1": "https://api.x.ai/v1",
    "/xai": "https://api.x.ai",
    "/tzafon/v1": "https://api.tzafon.ai/v1",
    "/skytells/v1": "https://api.skytells.ai/v1",
    "/crazyrouter/v1": "https://crazyrouter.com/v1",
    "/gemini/v1beta/openai": "https://generativelanguage.googleapis.com/v1beta/openai",
    "/gemini": "https://generativelanguage.googleapis.com",
    "/anthropic": "https://api.anthropic.com",
    "/mistral/v1": "https://api.mistral.ai/v1",
    "/mistral": "https://api.mistral.ai/v1",
    "/ollama": "http://127.0.0.1:11434",
    "/cohere/compatibility/v1": "https://api.cohere.com/compatibility/v1",
    "/cohere": "https://api.cohere.com",
    "/voyage/v1": "https://api.voyageai.com/v1",
    "/voyage": "https://api.voyageai.com",
    "/jina": "https://api.jina.ai",
    "/bedrock/openai/v1": "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1",
    "/bedrock": "https://bedrock-runtime.us-east-1.amazonaws.com",
    "/v1": "https://api.openai.com/v1",
}
