"""Invocations that end later, through boto3: videos for a bucket."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from mockserver.testing import MockServer

BUCKET = {"s3OutputDataConfig": {"s3Uri": "s3://my-videos"}}


@pytest.fixture
def client() -> Iterator[Any]:
    with MockServer(unmatched="error") as server:
        server.on(operation="create_video", last_user="*storm*").reply(status=["in_progress", "failed"])
        yield boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=server.base_url("bedrock"),
            aws_access_key_id="any",
            aws_secret_access_key="any",
            config=Config(retries={"max_attempts": 1}),
        )


def start(client: Any, prompt: str) -> str:
    asked = {"taskType": "TEXT_VIDEO", "textToVideoParams": {"text": prompt}}
    begun = client.start_async_invoke(modelId="amazon.nova-reel-v1:1", modelInput=asked, outputDataConfig=BUCKET)
    return str(begun["invocationArn"])


def test_invocations_end_later(client: Any) -> None:
    cat, storm = start(client, "A cat"), start(client, "A storm at sea")
    assert [each["status"] for each in client.list_async_invokes()["asyncInvokeSummaries"]] == ["InProgress"] * 2
    done = client.get_async_invoke(invocationArn=cat)
    assert (done["status"], done["modelArn"].rpartition("/")[2]) == ("Completed", "amazon.nova-reel-v1:1")
    assert done["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"] == f"s3://my-videos/{cat.rpartition('/')[2]}"
    failed = client.get_async_invoke(invocationArn=storm)
    assert (failed["status"], "internal error" in failed["failureMessage"]) == ("Failed", True)
    listed = client.list_async_invokes(statusEquals="Failed")["asyncInvokeSummaries"]
    assert [each["invocationArn"] for each in listed] == [storm]


def test_what_is_refused(client: Any) -> None:
    wrong = {"s3OutputDataConfig": {"s3Uri": "my-videos"}}
    with pytest.raises(ClientError, match="ValidationException"):
        client.start_async_invoke(modelId="luma.ray-v2:0", modelInput={"prompt": "A cat"}, outputDataConfig=wrong)
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        client.get_async_invoke(invocationArn="arn:aws:bedrock:us-east-1:123456789012:async-invoke/abcdefabcdef")
