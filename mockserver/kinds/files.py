"""Files that clients upload for later calls."""

from mockserver.kinds.objects import STATUS, Creation, ObjectKind, delete, show

FILES = ObjectKind(
    made_by="create_file",
    listed_by="files",
    acts={"file": show, "delete_file": delete, "file_content": show},
)
OPERATIONS = (Creation(name=FILES.made_by, then=STATUS), *FILES.look_ups)
