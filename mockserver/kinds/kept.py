"""The objects that providers keep for their users: files, batches, conversations, jobs and the rest.

`objects.py` describes such a kind; a dialect makes its objects and shows them.
"""

from mockserver.kinds.kind import OperationKind
from mockserver.kinds.objects import ObjectKind

ASYNC_CHATS = ObjectKind(  # chats that are answered later
    "async_chat",
    "retrieve",
    listed_by="async_chats",
    statuses=("queued", "in_progress", "completed", "failed"),
)
BATCHES = ObjectKind(
    "batch",
    "retrieve delete",
    others=("cancel_batch", "batch_results"),
    listed_by="batches",
    statuses=("validating", "in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled"),
)
ASSISTANTS = ObjectKind("assistant", "retrieve update delete", listed_by="assistants")
THREADS = ObjectKind("thread", "retrieve update delete")
THREAD_MESSAGES = ObjectKind("thread_message", "retrieve update delete", listed_by="thread_messages")
RUNS = ObjectKind("run", "retrieve update", others=("cancel_run",), listed_by="runs")  # which chats make
RUN_STEPS = ObjectKind("run_step", "retrieve", listed_by="run_steps")
AGENTS = ObjectKind("agent", "retrieve update delete", listed_by="agents")
CACHED_CONTENTS = ObjectKind("cached_content", "retrieve update delete", listed_by="cached_contents")
FILES = ObjectKind(
    "file",
    "retrieve delete",
    others=("file_content", "file_url"),
    listed_by="files",
    statuses=("pending", "uploaded", "processed", "error"),
    takes_files=True,
)
UPLOADS = ObjectKind("upload", others=("complete_upload", "cancel_upload"))
UPLOAD_PARTS = ObjectKind("upload_part", takes_files=True)
CONVERSATIONS = ObjectKind("conversation", "retrieve update delete", listed_by="conversations")
CONVERSATION_ITEMS = ObjectKind("conversation_item", "retrieve delete", listed_by="conversation_items")
INTERACTIONS = ObjectKind("interaction", "retrieve delete", others=("cancel_interaction",))
VECTOR_STORES = ObjectKind(
    "vector_store", "retrieve update delete", others=("search_vector_store",), listed_by="vector_stores"
)
SEARCHED_FILE_STATUSES = ("in_progress", "completed", "cancelled", "failed")  # of files in vector stores
VECTOR_STORE_FILES = ObjectKind(
    "vector_store_file",
    "retrieve update delete",
    others=("vector_store_file_content",),
    listed_by="vector_store_files",
    statuses=SEARCHED_FILE_STATUSES,
)
FILE_BATCHES = ObjectKind(
    "vector_store_file_batch",
    "retrieve",
    others=("cancel_vector_store_file_batch", "vector_store_file_batch_files"),
    statuses=SEARCHED_FILE_STATUSES,
)
CONTAINERS = ObjectKind("container", "retrieve delete", listed_by="containers")
CONTAINER_FILES = ObjectKind(
    "container_file",
    "retrieve delete",
    others=("container_file_content",),
    listed_by="container_files",
    takes_files=True,
)
FINE_TUNING_JOBS = ObjectKind(
    "fine_tuning_job",
    "retrieve",
    others=(
        "cancel_fine_tuning_job",
        "pause_fine_tuning_job",
        "resume_fine_tuning_job",
        "fine_tuning_events",
        "fine_tuning_checkpoints",
    ),
    listed_by="fine_tuning_jobs",
    statuses=("validating_files", "queued", "running", "paused", "succeeded", "failed", "cancelled"),
)
CHECKPOINT_PERMISSIONS = ObjectKind("checkpoint_permission", "delete", listed_by="checkpoint_permissions")
EVALS = ObjectKind("eval", "retrieve update delete", listed_by="evals")
EVAL_RUNS = ObjectKind(
    "eval_run",
    "retrieve delete",
    others=("cancel_eval_run", "eval_output_items", "eval_output_item"),
    listed_by="eval_runs",
    statuses=("queued", "in_progress", "completed", "failed", "canceled"),
)
SKILLS = ObjectKind("skill", "retrieve update delete", others=("skill_content",), listed_by="skills", takes_files=True)
SKILL_VERSIONS = ObjectKind(
    "skill_version", "retrieve delete", others=("skill_version_content",), listed_by="skill_versions", takes_files=True
)
CHATKIT_SESSIONS = ObjectKind("chatkit_session", others=("cancel_chatkit_session",))
VIDEOS = ObjectKind(
    "video",
    "retrieve delete",
    others=("video_content",),
    listed_by="videos",
    statuses=("queued", "in_progress", "completed", "failed"),
    takes_files=True,
)
VIDEO_CHARACTERS = ObjectKind("video_character", "retrieve", takes_files=True)
VOICES = ObjectKind("voice", "delete")
VOICE_CONSENTS = ObjectKind("voice_consent", "retrieve update delete", listed_by="voice_consents")
WEBHOOK_ENDPOINTS = ObjectKind(
    "webhook_endpoint",
    "retrieve update delete",
    others=("rotate_webhook_secret", "test_webhook_endpoint"),
    listed_by="webhook_endpoints",
)
# Answered from the request alone; nothing is kept.
OTHERS = tuple(
    [
        OperationKind(name=name, names_model=False, takes_text=False)
        for name in ("run_grader", "validate_grader", "webhook_event_types")
    ]
)
_KINDS = (
    ASSISTANTS, THREADS, THREAD_MESSAGES, RUNS, RUN_STEPS,
    AGENTS, ASYNC_CHATS, BATCHES, CACHED_CONTENTS, CHATKIT_SESSIONS, FILES,
    UPLOADS, UPLOAD_PARTS, CONVERSATIONS, CONVERSATION_ITEMS, INTERACTIONS, VECTOR_STORES, VECTOR_STORE_FILES,
    FILE_BATCHES, CONTAINERS, CONTAINER_FILES, FINE_TUNING_JOBS, CHECKPOINT_PERMISSIONS, EVALS, EVAL_RUNS,
    SKILLS, SKILL_VERSIONS, VIDEOS, VIDEO_CHARACTERS, VOICES, VOICE_CONSENTS, WEBHOOK_ENDPOINTS,
)  # fmt: skip
OPERATIONS = (*[operation for kind in _KINDS for operation in kind.operations], *OTHERS)
