"""Cached contents, with which later calls begin."""

from mockserver.kinds.objects import Creation, ObjectKind, delete, show, update

CACHED_CONTENTS = ObjectKind(
    made_by="create_cached_content",
    listed_by="cached_contents",
    acts={"update_cached_content": update, "cached_content": show, "delete_cached_content": delete},
    must_exist=True,  # no call goes on without its contents
)
OPERATIONS = (Creation(name=CACHED_CONTENTS.made_by), *CACHED_CONTENTS.look_ups)
