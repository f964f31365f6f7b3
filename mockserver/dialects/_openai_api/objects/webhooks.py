"""Webhook endpoints (https://platform.openai.com/docs/guides/webhooks).

Their URLs are kept and never called: webhooks go to the URL of the settings, and to no other.
"""

from mockserver.core.call import Call, IdShape
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.dialects._fields import BodyModel, list_of, optional, shape
from mockserver.dialects._openai_api.objects.resource import New, Resource, serve
from mockserver.dialects._parse import Body
from mockserver.kinds.kept import WEBHOOK_ENDPOINTS
from mockserver.kinds.objects import Objects

EVENT_TYPES = (
    "batch.cancelled", "batch.completed", "batch.expired", "batch.failed",
    "eval.run.canceled", "eval.run.failed", "eval.run.succeeded",
    "fine_tuning.job.cancelled", "fine_tuning.job.failed", "fine_tuning.job.succeeded",
    "realtime.call.incoming", "response.cancelled", "response.completed", "response.failed", "response.incomplete",
)  # fmt: skip
_SECRETS = IdShape("whsec_", 32)  # what follows the prefix is base64
_TEST = BodyModel(shape(event_type=str))


class WebhookEndpoints(Resource):
    kind = WEBHOOK_ENDPOINTS
    path = "/webhook_endpoints"
    type = "webhook_endpoint"
    deleted = "webhook_endpoint.deleted"
    ids = IdShape("whe_", 32, "hex")
    unknown = "Webhook endpoint with id '{id}' not found."
    fields = BodyModel(shape(name=str, url=str, event_types=list_of(str)))
    updates = BodyModel(shape(name=optional(str), url=optional(str), event_types=optional(list_of(str))))

    async def make(self, new: New, objects: Objects) -> Body:
        return {
            "name": new.fields.get("name", "endpoint"),
            "url": new.fields.get("url", "https://example.com/webhook"),
            "event_types": new.fields.get("event_types") or [EVENT_TYPES[0]],
        }

    async def _create(self, new: New, call: Call, objects: Objects) -> ObjectView:
        return _show_with_secret(await self.create(new, objects), objects)

    @serve("POST", "rotate_secret")
    async def rotate_webhook_secret(self, call: Call, objects: Objects) -> ObjectView:
        return _show_with_secret(await self.find_asked(call, objects), objects)

    @serve("POST", "test", body=_TEST)
    async def test_webhook_endpoint(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        kind = call.raw["event_type"]
        objects.announce(kind, f"{kind.partition('.')[0]}_test")
        return ObjectView(
            {
                "object": "webhook_endpoint.test",
                "event_type": kind,
                "status_code": 200,
                "success": True,
                "webhook_endpoint_id": kept.id,
            }
        )

    @serve("GET", "/webhook_event_types")
    async def webhook_event_types(self, call: Call, objects: Objects) -> ObjectView:
        return ObjectView({"object": "list", "data": list(EVENT_TYPES)})


def _show_with_secret(kept: KeptObject, objects: Objects) -> ObjectView:
    """Return an endpoint with its secret, which no later look-up shows."""
    return ObjectView({**kept.body, "signing_secret": objects.draw_id(_SECRETS, f"secret of {kept.id}")})
