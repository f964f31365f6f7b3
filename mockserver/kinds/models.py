"""The models that exist: all of them, or one."""

from mockserver.kinds.kind import ModelListing

OPERATIONS = tuple(ModelListing(name=name) for name in ("models", "model", "delete_model", "info"))
