"""What providers keep for their users, and what can be done with it: files, batches, conversations, jobs and the rest.

`objects.py` says what such a kind is; a dialect adds how its objects are made and shown.
"""

from mockserver.kinds.kind import OperationKind
from mockserver.kinds.objects import name_objects

BATCHES = name_objects(
    *("batch", "retrieve delete", "cancel_batch", "batch_results"),
    plural="batches",
    statuses=(
        *("validating", "in_progress", "finalizing", "completed", "failed", "expired"),
        *("cancelling", "cancelled"),
    ),
)
CACHED_CONTENTS = name_objects("cached_content", "retrieve update delete", plural="cached_contents")
FILES = name_objects(
    *("file", "retrieve delete", "file_content"),
    plural="files",
    statuses=("pending", "uploaded", "processed", "error"),
    takes_files=True,
)
SEARCHED_FILE_STATUSES = ("in_progress", "completed", "cancelled", "failed")  # of files in vector stores
UPLOADS = name_objects("upload", "", "complete_upload", "cancel_upload")
UPLOAD_PARTS = name_objects("upload_part", "", takes_files=True)
CONVERSATIONS = name_objects("conversation", "retrieve update delete")
CONVERSATION_ITEMS = name_objects("conversation_item", "retrieve delete", plural="conversation_items")
VECTOR_STORES = name_objects("vector_store", "retrieve update delete", "search_vector_store", plural="vector_stores")
VECTOR_STORE_FILES = name_objects(
    *("vector_store_file", "retrieve update delete", "vector_store_file_content"),
    plural="vector_store_files",
    statuses=SEARCHED_FILE_STATUSES,
)
FILE_BATCHES = name_objects(
    *("vector_store_file_batch", "retrieve", "cancel_vector_store_file_batch", "vector_store_file_batch_files"),
    statuses=SEARCHED_FILE_STATUSES,
)
CONTAINERS = name_objects("container", "retrieve delete", plural="containers")
CONTAINER_FILES = name_objects(
    "container_file", "retrieve delete", "container_file_content", plural="container_files", takes_files=True
)
FINE_TUNING_JOBS = name_objects(
    *("fine_tuning_job", "retrieve", "cancel_fine_tuning_job", "pause_fine_tuning_job", "resume_fine_tuning_job"),
    *("fine_tuning_events", "fine_tuning_checkpoints"),
    plural="fine_tuning_jobs",
    statuses=("validating_files", "queued", "running", "paused", "succeeded", "failed", "cancelled"),
)
CHECKPOINT_PERMISSIONS = name_objects("checkpoint_permission", "delete", plural="checkpoint_permissions")
EVALS = name_objects("eval", "retrieve update delete", plural="evals")
EVAL_RUNS = name_objects(
    *("eval_run", "retrieve delete", "cancel_eval_run", "eval_output_items", "eval_output_item"),
    plural="eval_runs",
    statuses=("queued", "in_progress", "completed", "failed", "canceled"),
)
SKILLS = name_objects("skill", "retrieve update delete", "skill_content", plural="skills", takes_files=True)
SKILL_VERSIONS = name_objects(
    "skill_version", "retrieve delete", "skill_version_content", plural="skill_versions", takes_files=True
)
VOICES = name_objects("voice", "delete")
VOICE_CONSENTS = name_objects("voice_consent", "retrieve update delete", plural="voice_consents")
WEBHOOK_ENDPOINTS = name_objects(
    *("webhook_endpoint", "retrieve update delete", "rotate_webhook_secret", "test_webhook_endpoint"),
    plural="webhook_endpoints",
)
# Answered from the request alone; nothing is kept.
OTHERS = tuple(
    [
        OperationKind(name=name, names_model=False, takes_text=False)
        for name in ("run_grader", "validate_grader", "webhook_event_types")
    ]
)
_KINDS = (
    *(BATCHES, CACHED_CONTENTS, FILES),
    *(UPLOADS, UPLOAD_PARTS, CONVERSATIONS, CONVERSATION_ITEMS, VECTOR_STORES, VECTOR_STORE_FILES, FILE_BATCHES),
    *(CONTAINERS, CONTAINER_FILES, FINE_TUNING_JOBS, CHECKPOINT_PERMISSIONS, EVALS, EVAL_RUNS),
    *(SKILLS, SKILL_VERSIONS, VOICES, VOICE_CONSENTS, WEBHOOK_ENDPOINTS),
)
OPERATIONS = (*[operation for kind in _KINDS for operation in kind.operations], *OTHERS)
