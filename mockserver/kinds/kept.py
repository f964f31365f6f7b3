"""What providers keep for their users, and what can be done with it: files, batches, conversations, jobs and the rest.

`objects.py` says what such a kind is; a dialect adds how its objects are made and shown.
"""

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.plan import Stored
from mockserver.kinds.kind import OperationKind
from mockserver.kinds.objects import (
    Creation,
    Found,
    ObjectKind,
    cancel,
    delete,
    list_object_kinds,
    name_objects,
    show,
    update,
)


def _end(call: Call, stored: Stored) -> Found:
    """Show a batch, which has ended by the time it is retrieved."""
    if not stored.polls:
        return Found(stored)
    ended = replace(stored, polls=0)
    return Found(ended, ended)


def _delete_ended(call: Call, stored: Stored) -> Found:
    return Found(stored) if stored.polls else delete(call, stored)


BATCHES = ObjectKind(
    made_by="create_batch",
    listed_by="batches",
    acts={"batch": _end, "delete_batch": _delete_ended, "cancel_batch": cancel, "batch_results": show},
)
BATCH_STATUSES = (
    *("validating", "in_progress", "finalizing", "completed", "failed", "expired"),
    *("cancelling", "cancelled"),
)
CACHED_CONTENTS = ObjectKind(
    made_by="create_cached_content",
    listed_by="cached_contents",
    acts={"update_cached_content": update, "cached_content": show, "delete_cached_content": delete},
    must_exist=True,  # no call goes on without its contents
)
FILES = ObjectKind(
    made_by="create_file",
    listed_by="files",
    acts={"file": show, "delete_file": delete, "file_content": show},
)
FILE_STATUSES = ("pending", "uploaded", "processed", "error")
SEARCHED_FILE_STATUSES = ("in_progress", "completed", "cancelled", "failed")  # of files in vector stores
GRADERS = tuple(
    [OperationKind(name=name, names_model=False, takes_text=False) for name in ("run_grader", "validate_grader")]
)
OPERATIONS = (
    Creation(name=BATCHES.made_by, statuses=BATCH_STATUSES, holds_calls=True, takes_text=False),
    *BATCHES.look_ups,
    Creation(name=CACHED_CONTENTS.made_by),
    *CACHED_CONTENTS.look_ups,
    Creation(name=FILES.made_by, statuses=FILE_STATUSES, takes_files=True),
    *FILES.look_ups,
    *list_object_kinds(
        name_objects("upload", "complete_upload", "cancel_upload"),
        name_objects("upload_part", takes_files=True),
        name_objects("conversation", "conversation", "update_conversation", "delete_conversation"),
        name_objects("conversation_item", "conversation_item", "delete_conversation_item", plural="conversation_items"),
        name_objects(
            "vector_store",
            *("vector_store", "update_vector_store", "delete_vector_store", "search_vector_store"),
            plural="vector_stores",
        ),
        name_objects(
            "vector_store_file",
            *("vector_store_file", "update_vector_store_file", "delete_vector_store_file", "vector_store_file_content"),
            plural="vector_store_files",
            statuses=SEARCHED_FILE_STATUSES,
        ),
        name_objects(
            "vector_store_file_batch",
            *("vector_store_file_batch", "cancel_vector_store_file_batch", "vector_store_file_batch_files"),
            statuses=SEARCHED_FILE_STATUSES,
        ),
        name_objects("container", "container", "delete_container", plural="containers"),
        name_objects(
            "container_file",
            *("container_file", "delete_container_file", "container_file_content"),
            plural="container_files",
            takes_files=True,
        ),
        name_objects(
            "fine_tuning_job",
            *("fine_tuning_job", "cancel_fine_tuning_job", "pause_fine_tuning_job", "resume_fine_tuning_job"),
            *("fine_tuning_events", "fine_tuning_checkpoints"),
            plural="fine_tuning_jobs",
            statuses=("validating_files", "queued", "running", "paused", "succeeded", "failed", "cancelled"),
        ),
        name_objects("checkpoint_permission", "delete_checkpoint_permission", plural="checkpoint_permissions"),
    ),
    *GRADERS,
    *list_object_kinds(
        name_objects("eval", "eval", "update_eval", "delete_eval", plural="evals"),
        name_objects(
            "eval_run",
            *("eval_run", "delete_eval_run", "cancel_eval_run", "eval_output_items", "eval_output_item"),
            plural="eval_runs",
            statuses=("queued", "in_progress", "completed", "failed", "canceled"),
        ),
        name_objects(
            "skill",
            *("skill", "update_skill", "delete_skill", "skill_content"),
            plural="skills",
            takes_files=True,
        ),
        name_objects(
            "skill_version",
            *("skill_version", "delete_skill_version", "skill_version_content"),
            plural="skill_versions",
            takes_files=True,
        ),
        name_objects("voice", "delete_voice", plural="voices"),
        name_objects(
            "voice_consent", *("voice_consent", "update_voice_consent", "delete_voice_consent"), plural="voice_consents"
        ),
        name_objects(
            "webhook_endpoint",
            *("webhook_endpoint", "update_webhook_endpoint", "delete_webhook_endpoint"),
            *("rotate_webhook_secret", "test_webhook_endpoint"),
            plural="webhook_endpoints",
        ),
    ),
    OperationKind(name="webhook_event_types", names_model=False, takes_text=False),
)
