"""Writes the minutes of a meeting, whatever the provider is up to."""

import os

from azure.ai.inference import ChatCompletionsClient
from azure.ai.inference.models import SystemMessage, UserMessage
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError

MODELS = ("gpt-4o", "mistral-small")  # the second where the first is not to be had


def minutes(transcript: str) -> str:
    """The minutes, from the first model that answers. Raises HttpResponseError if none does."""
    messages = [SystemMessage("Write the minutes of this meeting."), UserMessage(transcript)]
    with connected() as client:
        for model in MODELS:
            try:
                return client.complete(messages=messages, model=model).choices[0].message.content
            except HttpResponseError as error:
                if model == MODELS[-1] or not worth_another(error):
                    raise
    raise AssertionError("there is no model")


def connected() -> ChatCompletionsClient:
    """A client that tries thrice, and waits as long as it is told to."""
    return ChatCompletionsClient(
        endpoint=os.environ["AZURE_INFERENCE_ENDPOINT"],
        credential=AzureKeyCredential(os.environ["AZURE_INFERENCE_CREDENTIAL"]),
        retry_total=2,
        retry_backoff_factor=float(os.environ.get("MINUTES_BACKOFF", "0.8")),
    )


def worth_another(error: HttpResponseError) -> bool:
    """Whether another model might answer."""
    return error.status_code is None or error.status_code == 429 or error.status_code >= 500
