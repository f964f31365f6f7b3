"""The models that exist, in pages, and each by its name; `find_page` serves other lists, too."""

from collections.abc import Sequence

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import ModelLimits, Models
from mockserver.dialects._parse import Body
from mockserver.dialects._reply import make_json_reply
from mockserver.dialects.anthropic.errors import refuse, write_request_id
from mockserver.wire.parts import write_moment


def render_models(call: Call, outcome: Models) -> Reply:
    """Return the reply with a page of models, or with one of them."""
    wanted = call.http.query.get("lifecycle[]", "active").split(",")
    if not _LIFECYCLES.issuperset(wanted):
        raise refuse("lifecycle: Input should be 'active', 'deprecated' or 'retired'")
    known = zip(outcome.names, outcome.limits, strict=True) if call.operation == "model" or "active" in wanted else ()
    listed = [_render_model(name, outcome.created, limits) for name, limits in known]
    body = listed[0] if call.operation == "model" else find_page(listed, call.http)
    return make_json_reply(200, body, lines=write_request_id(call.http, call))


def _render_model(name: str, created: int, limits: ModelLimits) -> dict[str, Json]:
    words = name.split("-")
    named = [*(word.capitalize() for word in words if not word.isdigit()), ".".join(filter(str.isdigit, words))]
    return {
        "type": "model",
        "id": name,
        "display_name": " ".join(filter(None, named)),
        "created_at": write_moment(created),
        "lifecycle": "active",
        "line": next((line for line in ("haiku", "sonnet", "opus", "fable", "mythos") if line in words), None),
        "max_input_tokens": limits.context or 200_000,
        "max_tokens": limits.answer or 64_000,
        "capabilities": None,
        "deprecated_at": None,
        "retires_at": None,
    }


_LIFECYCLES = frozenset(("active", "deprecated", "retired"))


def find_page(entries: Sequence[Body], http: HttpRequest) -> dict[str, Json]:
    """Return the part of a list that a query asks for: `limit` entries after, or before, one of them."""
    limit = read_integer("limit", http.query.get("limit", "20"), least=1, most=_LARGEST_PAGE)
    names = [entry["id"] for entry in entries]
    start = 0
    end = len(entries)
    if (after := http.query.get("after_id")) is not None:
        start = names.index(after) + 1 if after in names else end
    if (before := http.query.get("before_id")) is not None:
        end = names.index(before) if before in names else 0
        start = max(start, end - limit)
    shown = entries[start:end][:limit]
    more = start > 0 if before is not None else start + limit < end
    return {
        "data": list(shown),
        "has_more": more,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
    }


def find_next_page(entries: Sequence[Body], http: HttpRequest) -> dict[str, Json]:
    """Return the part of a list that a query asks for: `limit` entries from the `page` that an earlier part named."""
    cursor = http.query.get("page")
    after = {} if cursor is None else {"after_id": cursor.removeprefix("page_")}
    shown = find_page(entries, replace(http, query={"limit": http.query.get("limit", "20"), **after}))
    following = f"page_{shown['last_id']}" if shown["has_more"] else None
    return {"data": shown["data"], "has_more": shown["has_more"], "next_page": following}


def read_integer(name: str, text: str, *, least: int, most: int) -> int:
    """Return the number of a field or a query; `name` is what a refusal calls it. Raises Failure."""
    try:
        number = int(text)
    except ValueError:
        raise refuse(f"{name}: Input should be a valid integer, unable to parse string as an integer") from None
    if not least <= number <= most:
        side = f"greater than or equal to {least}" if number < least else f"less than or equal to {most}"
        raise refuse(f"{name}: Input should be {side}")
    return number


_LARGEST_PAGE = 1000
