"""What of a Responses body would change the answer: no transport, no bookkeeping, ids only as far as they tell apart.

JSON Schemas become text, as the order of their keys is the order in which a model writes.
"""

from collections.abc import Mapping

from pydantic_core import to_json

from mockserver.core.call import Json

Body = Mapping[str, Json]


def meaning(body: Body) -> dict[str, Json]:
    """The fields that a Call's fingerprint is made of (product rules: determinism)."""
    kept = {key: value for key, value in body.items() if value is not None and key not in _BOOKKEEPING}
    if isinstance(items := kept.get("input"), list):
        ordinals: dict[str, str] = {}
        kept["input"] = [_with_ordinals(item, ordinals) for item in items]
    if tools := kept.get("tools"):
        kept["tools"] = [_schema_as_text(tool, "parameters") for tool in tools]
    text = kept.get("text")
    if text and text.get("format"):
        kept["text"] = {**text, "format": _schema_as_text(text["format"], "schema")}
    return kept


def _with_ordinals(item: Body, ordinals: dict[str, str]) -> Body:
    """The same with each of its ids replaced by the place at which that id first occurred."""
    named = {key: item[key] for key in _IDS if isinstance(item.get(key), str)}
    if not named:
        return item
    return {**item, **{key: ordinals.setdefault(name, f"#{len(ordinals)}") for key, name in named.items()}}


def _schema_as_text(holder: Body, key: str) -> Body:
    return {**holder, key: to_json(holder[key]).decode()} if holder.get(key) is not None else holder


_IDS = ("id", "call_id", "approval_request_id")
_BOOKKEEPING = frozenset(
    {
        "stream",
        "stream_options",
        "user",
        "safety_identifier",
        "metadata",
        "store",
        "background",
        "background_options",
        "service_tier",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "previous_response_id",
        "request_id",
        "priority",
        "cache_salt",
        "enable_response_messages",
    }
)
