"""Vector stores: files that are searched by meaning."""

from mockserver.kinds.objects import list_object_kinds, name_objects

FILE_STATUSES = ("in_progress", "completed", "cancelled", "failed")
STORES = name_objects(
    "vector_store",
    *("vector_store", "update_vector_store", "delete_vector_store", "search_vector_store"),
    plural="vector_stores",
)
FILES = name_objects(
    "vector_store_file",
    *("vector_store_file", "update_vector_store_file", "delete_vector_store_file", "vector_store_file_content"),
    plural="vector_store_files",
    statuses=FILE_STATUSES,
)
BATCHES = name_objects(
    "vector_store_file_batch",
    *("vector_store_file_batch", "cancel_vector_store_file_batch", "vector_store_file_batch_files"),
    statuses=FILE_STATUSES,
)
OPERATIONS = list_object_kinds(STORES, FILES, BATCHES)
