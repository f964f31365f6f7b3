"""Which headers are recorded: only those of these tables. What names an account or a person is in none of them."""

from collections.abc import Collection
from dataclasses import dataclass

from mockserver.core.http import Headers
from mockserver.core.secrets import is_secret_header


@dataclass(frozen=True, slots=True)
class Kept:
    """Headers to keep: by name, or by how their names begin."""

    names: frozenset[str]
    beginnings: tuple[str, ...] = ()

    def of(self, headers: Headers, more: Collection[str] = ()) -> Headers:
        """Those of some headers that are kept, in their order, with names in lower case; `more` are asked for."""
        small = ((name.lower(), value) for name, value in headers)
        return tuple((name, value) for name, value in small if self.has(name) or (name in more and name not in NEVER))

    def has(self, name: str) -> bool:
        """Whether a header, named in lower case, is kept."""
        if name in self.names:
            return True
        return name.startswith(self.beginnings) and name not in NEVER | ACCOUNT and not is_secret_header(name)


REQUEST = Kept(
    frozenset(
        (
            *("accept", "content-type"),
            *("openai-beta", "anthropic-version", "anthropic-beta", "api-version", "x-api-version"),
            *("extra-parameters", "azureml-model-deployment"),
            "x-stainless-retry-count",
        )
    )
)

REPLY = Kept(
    frozenset(
        (
            *("content-type", "cache-control", "allow"),
            *("retry-after", "retry-after-ms", "x-should-retry"),
            *("x-request-id", "request-id", "apim-request-id"),
            *("openai-processing-ms", "openai-version", "openai-model", "openai-poll-after-ms"),
        )
    ),
    ("x-ratelimit-", "ratelimit-", "anthropic-ratelimit-", "x-ms-", "azureml-model-", "fireworks-"),
)

# What is never kept, whoever asks for it: what belongs to one connection, one form of the body, or one visitor.
NEVER = frozenset(
    (
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
        *("proxy-authenticate", "content-length", "content-encoding", "accept-encoding", "host", "date"),
        *("set-cookie", "set-cookie2"),
    )
)

# Whose request it is. That is no credential, but a name, and often a plain word: its value is left alone elsewhere.
ACCOUNT = frozenset(("openai-organization", "openai-project", "x-ms-client-principal-id"))
