"""The models that exist: all of them, or one; and what a server does with the models that it holds."""

from mockserver.kinds.kind import ModelListing

_MODEL_OPERATIONS = ("models", "model", "delete_model", "info", "running_models", "version", "server_status")
_SERVER_OPERATIONS = ("load_model", "pull_model", "push_model", "create_model", "copy_model", "blob", "create_blob")
OPERATIONS = tuple(
    ModelListing(name=name, deletes=name == "delete_model") for name in (*_MODEL_OPERATIONS, *_SERVER_OPERATIONS)
)
