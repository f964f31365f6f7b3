"""Kept objects of OpenAI's API: files, batches, conversations, vector stores, ...: a module for each family."""

from mockserver.dialects import Operation
from mockserver.dialects._openai_api.objects.assistants import Assistants, ThreadMessages, Threads
from mockserver.dialects._openai_api.objects.batches import Batches
from mockserver.dialects._openai_api.objects.chatkit import ChatKitSessions
from mockserver.dialects._openai_api.objects.containers import ContainerFiles, Containers
from mockserver.dialects._openai_api.objects.conversations import ConversationItems, Conversations
from mockserver.dialects._openai_api.objects.evals import EvalRuns, Evals
from mockserver.dialects._openai_api.objects.files import Files
from mockserver.dialects._openai_api.objects.fine_tuning import CheckpointPermissions, FineTuningJobs, Graders
from mockserver.dialects._openai_api.objects.resource import ObjectsApi
from mockserver.dialects._openai_api.objects.runs import Runs, RunSteps
from mockserver.dialects._openai_api.objects.skills import Skills, SkillVersions
from mockserver.dialects._openai_api.objects.uploads import UploadParts, Uploads
from mockserver.dialects._openai_api.objects.vector_stores import FileBatches, VectorStoreFiles, VectorStores
from mockserver.dialects._openai_api.objects.videos import VideoCharacters, Videos
from mockserver.dialects._openai_api.objects.voices import VoiceConsents, Voices
from mockserver.dialects._openai_api.objects.webhooks import WebhookEndpoints

RESOURCES = (
    Files, Uploads, UploadParts, Batches,
    Conversations, ConversationItems,
    VectorStores, VectorStoreFiles, FileBatches,
    Containers, ContainerFiles,
    FineTuningJobs, CheckpointPermissions, Graders,
    Evals, EvalRuns,
    Skills, SkillVersions,
    VideoCharacters, Videos,
    Voices, VoiceConsents,
    ChatKitSessions,
    Assistants, Runs, RunSteps, Threads, ThreadMessages,
    WebhookEndpoints,
)  # fmt: skip


def make_object_operations(api: ObjectsApi) -> tuple[Operation, ...]:
    """Return the operations on all kinds of objects."""
    return tuple([operation for resource in RESOURCES for operation in resource(api).make_operations()])
