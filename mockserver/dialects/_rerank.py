"""Rerank: requests as Calls, for Cohere, Jina, Voyage and those that speak like them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.core.call import Call, IdShape, Message, Options
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, compact
from mockserver.core.lazy import map_lazily
from mockserver.core.validation import Validation
from mockserver.dialects._fields import BodyModel
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._parse import Body, Refuse, complain, read_request
from mockserver.kinds.rerank import RankedDocument, Ranking

_BOOKKEEPING = frozenset({"return_documents", "priority"})
_TOP = ("top_n", "top_k")  # how many documents to return, in the words of different providers; 0 is all


def parse_rerank(
    http: HttpRequest, validation: Validation, *, dialect: str, model: BodyModel, refuse: Refuse, usual_model: str = ""
) -> Call:
    """Return the Call of a body that `model` accepts, with the query as the user's message."""
    body, parsed = read_request(model, http, refuse=refuse, validation=validation, is_closed=True)
    if validation is not Validation.OFF and not parsed["documents"]:
        raise refuse(complain("documents must not be empty", "documents"))
    name = parsed.get("model") or usual_model
    fields = parsed.get("rank_fields") or ()
    return Call(
        dialect=dialect,
        operation="rerank",
        model=name,
        http=http,
        meaning={**find_meaning(body, dialect, "rerank", _BOOKKEEPING), "model": name},
        raw=body,
        messages=(Message("user", parsed["query"]),),
        documents=tuple([_read_document(each, fields) for each in parsed["documents"]]),
        options=Options(top_documents=next((top for key in _TOP if (top := parsed.get(key))), None)),
        ids=IdShape("", 32, "uuid"),
        message_tokens=0,
    )


def _read_document(document: Json, fields: Sequence[str]) -> str:
    """Return the text of a document: of one with fields, those that are to be ranked, or its `text`."""
    if not isinstance(document, Mapping):
        return str(document)
    ranked = [str(document[name]) for name in fields if name in document]
    if ranked:
        return "\n".join(ranked)
    text = document.get("text")
    return text if isinstance(text, str) else compact(document)


def list_ranked(
    outcome: Ranking,
    show: Callable[[RankedDocument], Mapping[str, Json]],
    find_document: Callable[[int], Json] | None,
) -> Sequence[Any]:
    """Return the documents of a ranking as `show` writes them, and if `find_document` is stated, what it returns for
    the index of each as its `document`.
    """

    def write(ranked: RankedDocument) -> dict[str, Json]:
        return {**show(ranked), **({} if find_document is None else {"document": find_document(ranked.index)})}

    return map_lazily(write, outcome.ranked)


def show_ranked(ranked: RankedDocument) -> dict[str, Json]:
    """Return a document of a ranking as most providers write it: its index in the request, and its score."""
    return {"index": ranked.index, "relevance_score": ranked.score}


def wants_documents(body: Body) -> bool:
    """Return whether a request asks for the documents themselves beside their scores."""
    return body.get("return_documents") is True
