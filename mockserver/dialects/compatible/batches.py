"""Files and batches at the hosts that have OpenAI's, such as Groq (https://console.groq.com/docs/batch)."""

from collections.abc import Callable, Sequence

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Failure
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, optional, shape
from mockserver.dialects._openai_api.chat_bodies import Metadata
from mockserver.dialects._openai_api.objects.batches import Batches
from mockserver.dialects._openai_api.objects.files import Files
from mockserver.dialects._openai_api.objects.resource import ObjectsApi
from mockserver.dialects._reply import write_request_id
from mockserver.dialects.compatible.hosts import Host
from mockserver.dialects.compatible.request import NAME, drop_openai_rules


class _Files(Files):
    """Files that are there for batches."""

    usual_purpose = "batch"


class _Batches(Batches):
    """Batches whose window is the host's to say: Groq's may last seven days."""

    fields = BodyModel(
        shape(input_file_id=str, endpoint=str, completion_window=optional(str), metadata=optional(Metadata))
    )


def make_batch_operations(
    host: Host,
    answering: Sequence[Operation],
    *,
    fail: Callable[[HttpRequest, Failure, Call | None], Reply],
) -> tuple[Operation, ...]:
    """Return the operations on files and batches, if a host has them.

    The lines of a batch may ask for the operations `answering`, whose failures `fail` renders.
    """
    if host.operations.isdisjoint(("batches", "files")):
        return ()
    api = ObjectsApi(NAME, write_request_id, fail=fail, operations=answering)
    if "batches" in host.operations:
        made = (*_Files(api).make_operations(), *_Batches(api).make_operations())
    else:
        made = Files(api).make_operations()
    return tuple(map(drop_openai_rules, made))
