"""Files that clients upload for later calls."""

from mockserver.kinds.objects import Creation, ObjectKind, delete, show

FILES = ObjectKind(
    made_by="create_file",
    listed_by="files",
    acts={"file": show, "delete_file": delete, "file_content": show},
)
STATUSES = ("pending", "uploaded", "processed", "error")
OPERATIONS = (Creation(name=FILES.made_by, statuses=STATUSES, takes_files=True), *FILES.look_ups)
