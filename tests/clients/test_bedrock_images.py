"""Image models of Bedrock, through boto3: Amazon's and Stability's, each in its own format."""

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from mockserver.media.file_kinds import find_picture_size, recognize
from mockserver.testing import MockServer


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(unmatched="generate") as server:
        yield server


@pytest.fixture
def client(server: MockServer) -> Any:
    return boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=server.base_url("bedrock"),
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(retries={"max_attempts": 1}),
    )


def invoke(client: Any, model: str, body: Any) -> Any:
    return json.loads(client.invoke_model(modelId=model, body=json.dumps(body))["body"].read())


def measure(image: str) -> tuple[str | None, tuple[int, int] | None]:
    data = b64decode(image)
    return recognize(data), find_picture_size(data)


@pytest.mark.parametrize(
    "model", ["amazon.nova-canvas-v1:0", "us.amazon.nova-canvas-v1:0", "amazon.titan-image-generator-v2:0"]
)
def test_amazons_models(client: Any, model: str) -> None:
    body = {
        "taskType": "TEXT_IMAGE",
        "textToImageParams": {"text": "A red fox"},
        "imageGenerationConfig": {"numberOfImages": 2, "width": 512, "height": 768, "seed": 7},
    }
    answer = invoke(client, model, body)
    assert (len(answer["images"]), answer["error"]) == (2, None)
    assert answer["images"][0] != answer["images"][1]
    assert measure(answer["images"][0]) == ("image/png", (512, 768))
    varied = {"taskType": "IMAGE_VARIATION", "imageVariationParams": {"images": ["eA=="], "text": "A fox"}}
    assert measure(invoke(client, model, varied)["images"][0]) == ("image/png", (1024, 1024))
    body["imageGenerationConfig"] = {"numberOfImages": 9}
    with pytest.raises(ClientError, match="#/imageGenerationConfig/numberOfImages: 9 is not less or equal to 5"):
        invoke(client, model, body)


def test_stabilitys_models(client: Any) -> None:
    body = {"prompt": "A red fox", "aspect_ratio": "16:9", "output_format": "jpeg", "seed": 7}
    answer = invoke(client, "stability.stable-image-core-v1:1", body)
    assert (answer["seeds"], answer["finish_reasons"]) == ([7], [None])
    assert recognize(b64decode(answer["images"][0])) == "image/jpeg"
    unseeded = invoke(client, "us.stability.sd3-5-large-v1:0", {"prompt": "A red fox"})
    assert unseeded["seeds"] == invoke(client, "us.stability.sd3-5-large-v1:0", {"prompt": "A red fox"})["seeds"]
    asked = {"text_prompts": [{"text": "A red fox", "weight": 1}], "width": 512, "height": 512, "steps": 30}
    drawn = invoke(client, "stability.stable-diffusion-xl-v1", asked)
    assert (drawn["result"], drawn["artifacts"][0]["finishReason"]) == ("success", "SUCCESS")
    assert measure(drawn["artifacts"][0]["base64"]) == ("image/png", (512, 512))
    with pytest.raises(ClientError, match=r"required key \[prompt\] not found"):
        invoke(client, "stability.stable-image-core-v1:1", {"mode": "text-to-image"})


def test_images_are_not_streamed(client: Any) -> None:
    with pytest.raises(ClientError, match="The model is unsupported for streaming"):
        client.invoke_model_with_response_stream(
            modelId="amazon.nova-canvas-v1:0", body=json.dumps(ask_canvas("A red fox"))
        )


def test_rules_answer(server: MockServer, client: Any) -> None:
    server.on("*fox*", operation="images").reply(image={"color": "teal", "text": "Fox"})
    server.on("*bear*", operation="images").fail(429)
    teal = invoke(client, "amazon.nova-canvas-v1:0", ask_canvas("A red fox"))
    assert teal != invoke(client, "amazon.nova-canvas-v1:0", ask_canvas("A red wolf"))
    with pytest.raises(ClientError, match="ThrottlingException"):
        invoke(client, "amazon.nova-canvas-v1:0", ask_canvas("A bear"))
    assert {call.operation for call in server.calls} == {"images"}


def ask_canvas(text: str) -> dict[str, Any]:
    return {"taskType": "TEXT_IMAGE", "textToImageParams": {"text": text}}
