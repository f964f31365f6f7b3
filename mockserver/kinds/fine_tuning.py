"""Fine-tuning: jobs that make models, who may use these, and graders."""

from mockserver.kinds.kind import OperationKind
from mockserver.kinds.objects import list_object_kinds, name_objects

JOBS = name_objects(
    "fine_tuning_job",
    *("fine_tuning_job", "cancel_fine_tuning_job", "pause_fine_tuning_job", "resume_fine_tuning_job"),
    *("fine_tuning_events", "fine_tuning_checkpoints"),
    plural="fine_tuning_jobs",
    statuses=("validating_files", "queued", "running", "paused", "succeeded", "failed", "cancelled"),
)
PERMISSIONS = name_objects("checkpoint_permission", "delete_checkpoint_permission", plural="checkpoint_permissions")
GRADERS = tuple(
    [OperationKind(name=name, names_model=False, takes_text=False) for name in ("run_grader", "validate_grader")]
)
OPERATIONS = (*list_object_kinds(JOBS, PERMISSIONS), *GRADERS)
