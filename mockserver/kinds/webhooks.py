"""Webhook endpoints: where a provider is to tell of events."""

from mockserver.kinds.kind import OperationKind
from mockserver.kinds.objects import list_object_kinds, name_objects

ENDPOINTS = name_objects(
    "webhook_endpoint",
    *("webhook_endpoint", "update_webhook_endpoint", "delete_webhook_endpoint"),
    *("rotate_webhook_secret", "test_webhook_endpoint"),
    plural="webhook_endpoints",
)
EVENT_TYPES = OperationKind(name="webhook_event_types", names_model=False, takes_text=False)
OPERATIONS = (*list_object_kinds(ENDPOINTS), EVENT_TYPES)
