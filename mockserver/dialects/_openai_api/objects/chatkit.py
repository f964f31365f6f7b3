"""Sessions of ChatKit, whose secret a browser gets (https://platform.openai.com/docs/api-reference/chatkit/sessions).

The widget in the browser talks to OpenAI itself; its threads are not here.
"""

from mockserver.core.call import Call, IdShape
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.dialects._fields import BodyModel, Object, integer, literal, optional, shape, text
from mockserver.dialects._openai_api.objects.resource import New, Resource, serve
from mockserver.dialects._parse import Body
from mockserver.kinds.kept import CHATKIT_SESSIONS
from mockserver.kinds.objects import Objects

_SECRETS = IdShape("ek_", 32, "hex")
_LASTS = 600  # seconds
_REQUESTS = 10  # of a minute
_SWITCHES: Body = {
    "automatic_thread_titling": {"enabled": True},
    "file_upload": {"enabled": False, "max_file_size": None, "max_files": None},
    "history": {"enabled": True, "recent_threads": None},
}


class ChatKitSessions(Resource):
    kind = CHATKIT_SESSIONS
    path = "/chatkit/sessions"
    type = deleted = "chatkit.session"
    ids = IdShape("cksess_", 48, "hex")
    unknown = "No session found with id '{id}'."
    fields = BodyModel(
        shape(
            user=text(1),
            workflow=shape(
                id=text(1), version=optional(str), state_variables=optional(Object), tracing=optional(Object)
            ),
            chatkit_configuration=optional(
                shape(**dict.fromkeys(("automatic_thread_titling", "file_upload", "history"), optional(Object)))
            ),
            expires_after=optional(shape(anchor=literal("created_at"), seconds=integer(1, 600))),
            rate_limits=optional(shape(max_requests_per_1_minute=optional(integer(1)))),
        )
    )

    async def make(self, new: New, objects: Objects) -> Body:
        fields = new.fields
        workflow: Body = fields.get("workflow") or {}
        stated: Body = fields.get("chatkit_configuration") or {}
        limit = (fields.get("rate_limits") or {}).get("max_requests_per_1_minute") or _REQUESTS
        return {
            "status": "active",
            "user": fields.get("user", "user"),
            "workflow": {
                "id": workflow.get("id", "wf_unknown"),
                "version": workflow.get("version"),
                "state_variables": workflow.get("state_variables"),
                "tracing": {"enabled": True, **(workflow.get("tracing") or {})},
            },
            "chatkit_configuration": {key: {**usual, **(stated.get(key) or {})} for key, usual in _SWITCHES.items()},
            "client_secret": objects.draw_id(_SECRETS, f"secret of {new.id}"),
            "expires_at": new.created + ((fields.get("expires_after") or {}).get("seconds") or _LASTS),
            "max_requests_per_1_minute": limit,
            "rate_limits": {"max_requests_per_1_minute": limit},
        }

    def show(self, kept: KeptObject) -> Body:
        shown: dict[str, Json] = {key: value for key, value in kept.body.items() if key != "created_at"}
        return shown

    @serve("POST", "cancel")
    async def cancel_chatkit_session(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        return ObjectView(self.show((await objects.change(kept, lambda found: found.end("cancelled"))).after))
