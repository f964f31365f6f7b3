"""OpenAI's chats as Google takes them beside Gemini (https://ai.google.dev/gemini-api/docs/openai)."""

import re

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects._clients import OPENAI_AT_GOOGLE
from mockserver.dialects._openai_api.chat_bodies import CHAT
from mockserver.dialects._parse import Body, clip


def is_openai_at_google(http: HttpRequest) -> bool:
    """Return whether a request of OpenAI's client came to Google's address."""
    return http.path.startswith(f"{OPENAI_AT_GOOGLE}/")


def refuse_live_mistakes(body: Body) -> None:
    """Raise the Failure of a chat that OpenAI would answer and Google refuses, although its page says otherwise."""
    unknown = [key for key in body if key in _OPENAI_ALONE or key not in CHAT.fields | _GOOGLE_ALONE]
    if unknown:
        lines = [f'Invalid JSON payload received. Unknown name "{clip(key)}": Cannot find field.' for key in unknown]
        details = {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [{"description": line} for line in lines],
        }
        raise Failure("bad_parameter", "\n".join(lines), details={"google": [details]})
    if all(message["role"] in ("system", "developer") for message in body["messages"]):
        raise Failure("bad_parameter", "* GenerateContentRequest.contents: contents is not specified\n")
    several = body.get("n") or 1
    if several > _MOST_CANDIDATES:
        wanted = f"should be between 1 and {_MOST_CANDIDATES}, got {several}"
        raise Failure("bad_parameter", f"Invalid value of n: {wanted}")
    if several > 1 and _GIVES_ONE.match(body["model"]):
        raise Failure("bad_parameter", "Multiple candidates is not enabled for this model")


_MOST_CANDIDATES = 8
_GIVES_ONE = re.compile(r"(?:models/)?gemini-(?:[3-9]|[1-9][0-9])")
_OPENAI_ALONE = frozenset({"frequency_penalty", "prompt_cache_key", "seed", "store"})
_GOOGLE_ALONE = frozenset({"extra_body", "google"})
