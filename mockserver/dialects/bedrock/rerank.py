"""Rerank: the operation of Bedrock's agents (`POST /rerank`), and Cohere's format by InvokeModel."""

from collections.abc import Mapping, Sequence

from mockserver.core.call import Call, Message, Options
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, compact
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, Object, Type, integer, list_of, optional, shape
from mockserver.dialects._parse import Body, read_body, read_request
from mockserver.dialects._reply import make_json_reply
from mockserver.dialects._rerank import list_ranked, show_ranked
from mockserver.dialects.bedrock.checks import refuse as refuse_text
from mockserver.dialects.bedrock.errors import refuse, write_request_id
from mockserver.dialects.bedrock.formats import refuse_malformed
from mockserver.dialects.bedrock.models import NAME
from mockserver.kinds.rerank import RankedDocument, Ranking

MAX_SOURCES = 1000


def make_rerank_operation() -> Operation:
    return Operation("rerank", "POST", "/rerank", parse=_parse, render=_render, body=_ask)


def _ask(text: str) -> dict[str, Json]:
    texts = [{"type": "TEXT", "textDocument": {"text": each}} for each in ("One document.", "Another document.")]
    model = {"modelArn": "arn:aws:bedrock:us-east-1::foundation-model/cohere.rerank-v3-5:0"}
    return {
        "queries": [{"type": "TEXT", "textQuery": {"text": text}}],
        "sources": [{"type": "INLINE", "inlineDocumentSource": each} for each in texts],
        "rerankingConfiguration": {
            "type": "BEDROCK_RERANKING_MODEL",
            "bedrockRerankingConfiguration": {"modelConfiguration": model},
        },
    }


def _parse(http: HttpRequest, validation: Validation) -> Call:
    body, _ = read_request(_RERANK, http, refuse=refuse, validation=validation)
    if not body["queries"] or not body["sources"]:
        raise refuse_text("The request needs a query and sources to rerank.")
    configured: Body = (body.get("rerankingConfiguration") or {}).get("bedrockRerankingConfiguration") or {}
    named = str((configured.get("modelConfiguration") or {}).get("modelArn", ""))
    return _make_call(
        http,
        body,
        model=named.partition("foundation-model/")[2] or named,
        query=(body["queries"][0].get("textQuery") or {}).get("text") or "",
        documents=[_read_source(source.get("inlineDocumentSource") or {}) for source in body["sources"]],
        top=configured.get("numberOfResults"),
    )


def _read_source(source: Body) -> str:
    """Return the text of a document, which may be JSON."""
    text = (source.get("textDocument") or {}).get("text")
    return text if isinstance(text, str) else compact(source.get("jsonDocument") or {})


def _make_call(
    http: HttpRequest, body: Body, *, model: str, query: str, documents: Sequence[str], top: int | None
) -> Call:
    return Call(
        dialect=NAME,
        operation="rerank",
        model=model,
        http=http,
        meaning={**body, "model": model},
        raw=body,
        messages=(Message("user", query),),
        documents=tuple(documents),
        options=Options(top_documents=top),
        message_tokens=0,
    )


def _render(call: Call, outcome: Ranking) -> Reply:
    body = {"results": list_ranked(outcome, _show, None)}
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


def _show(ranked: RankedDocument) -> dict[str, Json]:
    return {"index": ranked.index, "relevanceScore": ranked.score}


def reads_ranking(model: str, body: Body) -> bool:
    """Return whether InvokeModel is asked to rerank."""
    return "rerank" in model or ("query" in body and "documents" in body)


def parse_ranking(http: HttpRequest, body: Body, validation: Validation) -> Call:
    """Return the Call of a body in Cohere's format. Raises Failure."""
    read = read_body(_COHERE, body, refuse=refuse_malformed, validation=validation).body
    documents = [each if isinstance(each, str) else _read_table(each) for each in read["documents"]]
    model = http.path_params.get("model", "")
    return _make_call(http, read, model=model, query=read["query"], documents=documents, top=read.get("top_n"))


def _read_table(document: Json) -> str:
    text = document.get("text") if isinstance(document, Mapping) else None
    return text if isinstance(text, str) else compact(document)


def render_ranking(call: Call, outcome: Ranking) -> Reply:
    """Return the reply in Cohere's format."""
    body = {"results": list_ranked(outcome, show_ranked, None)}
    lines = f"{write_request_id(call.http, call)}x-amzn-bedrock-input-token-count: {outcome.prompt_tokens}\r\n"
    return make_json_reply(200, body, lines=lines, headers=outcome.headers)


_Text: Type = shape(text=str)
_Source = shape(
    type=str, inlineDocumentSource=shape(type=str, textDocument=optional(_Text), jsonDocument=optional(Object))
)
_RERANK = BodyModel(
    shape(
        queries=list_of(shape(type=str, textQuery=_Text), 1, 1),
        sources=list_of(_Source, 1, MAX_SOURCES),
        rerankingConfiguration=shape(
            type=str,
            bedrockRerankingConfiguration=shape(
                numberOfResults=optional(integer(1, MAX_SOURCES)),
                modelConfiguration=shape(modelArn=str, additionalModelRequestFields=optional(Object)),
            ),
        ),
    ),
    needed=("queries", "sources"),
)
_COHERE = BodyModel(
    shape(query=str, documents=list_of({"type": "any"}, 1, MAX_SOURCES), top_n=optional(integer(1))),
    needed=("query", "documents"),
)
