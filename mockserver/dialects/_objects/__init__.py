"""Kept objects of OpenAI's API: files, batches, conversations, vector stores, ...: a module for each."""

from mockserver.dialects import Operation
from mockserver.dialects._objects.batches import Batches
from mockserver.dialects._objects.files import Files
from mockserver.dialects._objects.resource import ObjectsApi

RESOURCES = (Files, Batches)


def object_operations(api: ObjectsApi) -> tuple[Operation, ...]:
    """Return the operations on all kinds of objects."""
    return tuple([operation for resource in RESOURCES for operation in resource(api).operations()])
