"""Refusals without a request: whose words they are, and that the journal knows of them."""

import json

import pytest

from mockserver.core.plan import Failure
from mockserver.server.http.protocol import refusal
from tests.kit.local import local


@pytest.mark.parametrize(
    ("path", "dialect", "namespace", "inner"),
    [
        ("/", "openai", "default", "/"),
        ("/v1/chat/completions", "openai", "default", "/v1/chat/completions"),
        ("/azure/info", "azure", "default", "/azure/info"),
        ("/ns/mine/tzafon/v1/models", "tzafon", "mine", "/tzafon/v1/models"),
        ("/ns/mine", "openai", "mine", "/"),
        ("/ns//x", "openai", "default", "/ns//x"),
        ("/ns/*/v1/models", "openai", "default", "/ns/*/v1/models"),
        (f"/ns/{'x' * 101}/v1", "openai", "default", f"/ns/{'x' * 101}/v1"),
        ("/ns/*/x", "openai", "default", "/ns/*/x"),
    ],
)
def test_a_refusal_is_worded_by_the_path_s_dialect(path: str, dialect: str, namespace: str, inner: str) -> None:
    live = local().live
    reply = refusal(live)(Failure("bad_parameter", "No.", status=431), "GET", path)
    assert reply.status == 431
    assert "No." in json.dumps(json.loads(reply.body))
    (row,) = live.journal
    assert (row.path, row.dialect, row.namespace, row.status) == (inner, dialect, namespace, 431)
    assert (row.source, row.ended) == ("invalid", "complete")
