"""Uploads: files that clients send in parts."""

from mockserver.kinds.objects import list_object_kinds, name_objects

UPLOADS = name_objects("upload", "complete_upload", "cancel_upload")
PARTS = name_objects("upload_part", takes_files=True)
OPERATIONS = list_object_kinds(UPLOADS, PARTS)
