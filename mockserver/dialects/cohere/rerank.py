"""Rerank (https://docs.cohere.com/v2/reference/rerank), in v2 and v1."""

from functools import partial

from mockserver.core.call import Call
from mockserver.core.http import Reply
from mockserver.dialects import Operation
from mockserver.dialects._reply import make_json_reply
from mockserver.dialects._rerank import list_ranked, parse_rerank, show_ranked, wants_documents
from mockserver.dialects.cohere.bodies import NAME, OLD_RERANK, RERANK
from mockserver.dialects.cohere.errors import make_refuse, write_header_lines
from mockserver.kinds.rerank import Ranking

USUAL_MODEL = "rerank-english-v2.0"  # of v1
_PER_UNIT = 100  # documents of a search unit


def make_rerank_operations() -> tuple[Operation, ...]:
    return tuple(
        Operation(
            "rerank",
            "POST",
            f"/v{version}/rerank",
            parse=partial(
                parse_rerank,
                dialect=NAME,
                model=model,
                refuse=make_refuse(f"v{version}/reference/rerank"),
                usual_model=usual,
            ),
            render=partial(_render, version=version),
        )
        for version, model, usual in (("2", RERANK, ""), ("1", OLD_RERANK, USUAL_MODEL))
    )


def _render(call: Call, outcome: Ranking, *, version: str) -> Reply:
    shown = (lambda at: {"text": call.documents[at]}) if version == "1" and wants_documents(call.raw) else None
    units = max(1, -(-outcome.documents // _PER_UNIT))
    body = {
        "id": outcome.id,
        "results": list_ranked(outcome, show_ranked, shown),
        "meta": {"api_version": {"version": version}, "billed_units": {"search_units": units}},
    }
    return make_json_reply(200, body, lines=write_header_lines(call.http, call), headers=outcome.headers)
