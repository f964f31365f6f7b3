"""Containers, in which the provider runs code, and the files in them."""

from mockserver.kinds.objects import list_object_kinds, name_objects

CONTAINERS = name_objects("container", "container", "delete_container", plural="containers")
FILES = name_objects(
    "container_file",
    *("container_file", "delete_container_file", "container_file_content"),
    plural="container_files",
    takes_files=True,
)
OPERATIONS = list_object_kinds(CONTAINERS, FILES)
