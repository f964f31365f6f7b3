"""Looking up what is kept, as OpenAI does it: lists cut into pages, and the queries that ask for them.

Knows neither what is listed nor how long it is kept.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from mockserver.core.call import Json
from mockserver.core.http import HttpRequest
from mockserver.core.page import Page
from mockserver.core.plan import Failure
from mockserver.dialects._shared.parse import Complaint

Refuse = Callable[[Complaint], Failure]
Entry = Mapping[str, Json]

ORDERS = ("asc", "desc")
MOST = 100  # entries of a page


def page(http: HttpRequest, refuse: Refuse, *, order: str) -> Page:
    """The page that a query asks for; `order` is the one that it leaves unsaid."""
    asked = http.query.get("order", order)
    if asked not in ORDERS:
        raise refuse(Complaint("value", ("order",), got=asked, expected=ORDERS))
    limit = whole_number(http, "limit", refuse, least=1)
    if limit is not None and limit > MOST:
        raise refuse(Complaint("above", ("limit",), got=limit, bound=MOST))
    return Page(http.query.get("after"), 20 if limit is None else limit, backwards=asked == "desc")


def whole_number(http: HttpRequest, name: str, refuse: Refuse, *, least: int = 0) -> int | None:
    """A number of the query, or None where it has none of that name."""
    text = http.query.get(name)
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        raise refuse(Complaint("type", (name,), got=text, expected=("an integer",))) from None
    if number < least:
        raise refuse(Complaint("below", (name,), got=number, bound=least))
    return number


def is_true(http: HttpRequest, name: str) -> bool:
    """Whether the query says yes."""
    return http.query.get(name, "").lower() in ("true", "1")


def pairs(http: HttpRequest, name: str) -> dict[str, str]:
    """The pairs of a query such as `metadata[topic]=trains`."""
    front = f"{name}["
    return {
        key.removeprefix(front)[:-1]: value
        for key, value in http.query.items()
        if key.startswith(front) and key.endswith("]")
    }


def listing(entries: Iterable[Entry], *, more: bool) -> dict[str, Json]:
    """The body of a list (`wire/openai.md` section 1)."""
    shown: Sequence[Entry] = list(entries)
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": more,
    }
