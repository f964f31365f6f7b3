"""Evals: tests of a model, their runs, and the results of these."""

from mockserver.kinds.objects import list_object_kinds, name_objects

EVALS = name_objects("eval", "eval", "update_eval", "delete_eval", plural="evals")
RUNS = name_objects(
    "eval_run",
    *("eval_run", "delete_eval_run", "cancel_eval_run", "eval_output_items", "eval_output_item"),
    plural="eval_runs",
    statuses=("queued", "in_progress", "completed", "failed", "canceled"),
)
OPERATIONS = list_object_kinds(EVALS, RUNS)
