"""Sends webhooks to the URL of the settings: events of batches, jobs and background responses.

They are signed as Standard Webhooks (https://www.standardwebhooks.com), which `client.webhooks.unwrap` verifies. The
time of the signature is true, as clients refuse an old one; everything else follows from the seed.
"""

import asyncio
import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence

import msgspec

from mockserver.core.http import HttpRequest
from mockserver.core.plan import SERVICE, Plan, WebhookEvent
from mockserver.core.row import COMPLETE, Row
from mockserver.core.seed import wall
from mockserver.core.text import escape_line
from mockserver.server.live import Live
from mockserver.state.journal import Journal

PREFIX = "whsec_"  # of secrets in base64
SECONDS = 10.0  # the time that a receiver has for an answer
MAX_READ = 100_000  # bytes of its answer that are kept
_sending = set[asyncio.Task[None]]()  # nobody else refers to them


def send_events(events: Sequence[WebhookEvent], live: Live, *, journal: Journal, namespace: str) -> None:
    """Send events one after another, once the answer has left that they are about; each is tried once."""
    task = asyncio.get_running_loop().create_task(_send_all(events, live, journal=journal, namespace=namespace))
    _sending.add(task)
    task.add_done_callback(_sending.discard)


async def _send_all(events: Sequence[WebhookEvent], live: Live, *, journal: Journal, namespace: str) -> None:
    for event in events:
        url = live.settings.webhook_url or ""
        body = write_event(event)
        headers = sign(event.id, body, time=int(wall()), secret=live.settings.webhook_secret)
        fields = [(name.encode(), value.encode()) for name, value in headers.items()]
        request = HttpRequest("POST", url, headers=fields, body=body, namespace=namespace)
        row = journal.open(request, event.dialect, operation="webhook")
        problem = await _send(request, row, event)
        remarks = (problem,) if problem else ()
        row.plan = Plan(None, f"{SERVICE}webhook {event.kind}", remarks=remarks)
        journal.close(row, COMPLETE)


async def _send(request: HttpRequest, row: Row, event: WebhookEvent) -> str:
    """Send an event, and note the answer in its row; return what went wrong, or nothing."""
    from httpx2 import AsyncClient

    url = request.path
    try:
        async with AsyncClient(trust_env=False, verify=False, timeout=SECONDS) as client:  # it is on this machine
            answer = await client.post(url, content=request.body, headers=request.headers)
    except Exception as error:  # whatever it is, the next event is sent
        return f"the webhook {event.kind} did not reach {escape_line(url)}: {escape_line(str(error) or repr(error))}"
    row.status = answer.status_code
    row.note_sent(answer.content[:MAX_READ])
    if answer.is_success:
        return ""
    return f"the webhook {event.kind} got the status {answer.status_code} from {escape_line(url)}"


def write_event(event: WebhookEvent) -> bytes:
    """Return the body of a request that tells of an event."""
    about = {"id": event.about}
    body = {"id": event.id, "object": "event", "created_at": event.created, "type": event.kind, "data": about}
    return msgspec.json.encode(body)


def sign(name: str, body: bytes, *, time: int, secret: str) -> dict[str, str]:
    """Return the headers of a webhook: its id, the time in seconds, and the signature of both with the body."""
    key = b64decode(secret.removeprefix(PREFIX))
    signature = hmac.digest(key, b"%b.%d.%b" % (name.encode(), time, body), "sha256")
    return {
        "content-type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(time),
        "webhook-signature": f"v1,{b64encode(signature).decode()}",
    }
