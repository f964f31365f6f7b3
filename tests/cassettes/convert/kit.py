"""What tests of importing share."""

import json
from typing import Any

from msgspec.structs import replace

from mockserver.cli.cassette.convert import decode_recorded
from mockserver.server.routes import make_dialect_routes

KNOWN = replace(make_dialect_routes(), decode=decode_recorded)
ASKED = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
}
STREAM = b'data: {"choices": [{"index": 0, "delta": {"content": "Hello"}}]}\n\ndata: [DONE]\n\n'
URL = "https://api.openai.com/v1/chat/completions"
JSON = {"content-type": ["application/json"]}


def interaction(**changed: Any) -> dict[str, Any]:
    """An interaction of vcrpy; what is changed is of its response, but for `request`."""
    request = {"method": "POST", "uri": URL, "body": json.dumps(ASKED), "headers": JSON}
    response = {"status": {"code": 200, "message": "OK"}, "headers": JSON, "body": {"string": json.dumps(ANSWER)}}
    return {"request": {**request, **changed.pop("request", {})}, "response": {**response, **changed}}
