"""The messages of Gemini's requests, as published in the v1beta types and Vertex AI's discovery document.

The bounds of values are in `checks.py`.
"""

from collections.abc import Mapping
from typing import Any

from mockserver.dialects.gemini.proto import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    FLOAT,
    INT32,
    INT64,
    STRING,
    STRINGS,
    STRUCT,
    TIMESTAMP,
    VALUE,
    MapOf,
    MessageType,
    Repeated,
    each,
    enum,
    message,
)

EMPTY = message("Empty")

# `parameters` and `responseSchema`: a subset of OpenAPI's schemas.
SCHEMA: MessageType = message(
    "Schema",
    type=enum("Type", "TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"),
    **each(STRING, "format", "title", "description", "pattern", "ref"),
    **each(STRINGS, "enum", "required", "propertyOrdering"),
    **each(INT64, "maxItems", "minItems", "minProperties", "maxProperties", "minLength", "maxLength"),
    **each(DOUBLE, "minimum", "maximum"),
    **each(VALUE, "example", "default", "additionalProperties"),
    nullable=BOOL,
    items=lambda: SCHEMA,
    anyOf=Repeated(lambda: SCHEMA),
    properties=MapOf(lambda: SCHEMA),
    defs=MapOf(lambda: SCHEMA),
)

BLOB = message("Blob", mimeType=STRING, data=BYTES, displayName=STRING)
FILE_DATA = message("FileData", mimeType=STRING, fileUri=STRING, displayName=STRING)
FUNCTION_CALL = message(
    "FunctionCall", id=STRING, name=STRING, args=STRUCT, partialArgs=Repeated(STRUCT), willContinue=BOOL
)
RESOLUTIONS = ("UNSPECIFIED", "LOW", "MEDIUM", "HIGH", "ULTRA_HIGH")
# What a part says of its media; a part without data may say it of the one before.
MEDIA_FIELDS: Mapping[str, Any] = {
    "videoMetadata": message(
        "VideoMetadata", startOffset=DURATION, endOffset=DURATION, fps=DOUBLE, contentLayers=STRINGS
    ),
    "mediaResolution": message(
        "MediaResolution",
        level=enum("MediaResolution.Level", *RESOLUTIONS, prefix="MEDIA_RESOLUTION_"),
        numTokens=INT32,
    ),
    "mediaProcessing": enum("MediaProcessing", "MEDIA_PROCESSING_UNSPECIFIED", "STATIC", "AGENTIC"),
    **each(STRUCT, "audioTranscription", "speechMetadata", "documentMetadata", "spreadsheetMetadata", "audioMetadata"),
}
FUNCTION_RESPONSE = message(
    "FunctionResponse",
    id=STRING,
    name=STRING,
    response=STRUCT,
    parts=Repeated(message("FunctionResponsePart", inlineData=BLOB, fileData=FILE_DATA, **MEDIA_FIELDS)),
    willContinue=BOOL,
    scheduling=enum("FunctionResponse.Scheduling", "SCHEDULING_UNSPECIFIED", "SILENT", "WHEN_IDLE", "INTERRUPT"),
)
EXECUTABLE_CODE = message(
    "ExecutableCode", id=STRING, language=enum("ExecutableCode.Language", "LANGUAGE_UNSPECIFIED", "PYTHON"), code=STRING
)
CODE_RESULT = message(
    "CodeExecutionResult",
    id=STRING,
    outcome=enum("CodeExecutionResult.Outcome", "UNSPECIFIED", "OK", "FAILED", "DEADLINE_EXCEEDED", prefix="OUTCOME_"),
    output=STRING,
)
# The data of a part, of which it has one.
DATA: Mapping[str, Any] = {
    "text": STRING,
    "inlineData": BLOB,
    "fileData": FILE_DATA,
    "functionCall": FUNCTION_CALL,
    "functionResponse": FUNCTION_RESPONSE,
    "executableCode": EXECUTABLE_CODE,
    "codeExecutionResult": CODE_RESULT,
    "toolCall": message("ToolCall", toolType=STRING, id=STRING, args=STRUCT),
    "toolResponse": message("ToolResponse", toolType=STRING, id=STRING, response=STRUCT),
}
PART = message("Part", *DATA, **DATA, **MEDIA_FIELDS, thought=BOOL, thoughtSignature=BYTES, partMetadata=STRUCT)
CONTENT = message("Content", parts=Repeated(PART), role=STRING)

FUNCTION = message(
    "FunctionDeclaration",
    name=STRING,
    description=STRING,
    parameters=SCHEMA,
    parametersJsonSchema=VALUE,
    response=SCHEMA,
    responseJsonSchema=VALUE,
    behavior=enum("FunctionDeclaration.Behavior", "UNSPECIFIED", "BLOCKING", "NON_BLOCKING"),
)
HOSTED_TOOLS = {
    "googleSearch": message(
        "GoogleSearch",
        timeRangeFilter=message("Interval", startTime=TIMESTAMP, endTime=TIMESTAMP),
        searchTypes=VALUE,
        vertex={"blockingConfidence": STRING, "excludeDomains": STRINGS},
    ),
    "googleSearchRetrieval": message(
        "GoogleSearchRetrieval",
        dynamicRetrievalConfig=message(
            "DynamicRetrievalConfig",
            mode=enum("DynamicRetrievalConfig.Mode", "UNSPECIFIED", "DYNAMIC", prefix="MODE_"),
            dynamicThreshold=FLOAT,
        ),
    ),
    "codeExecution": EMPTY,
    "urlContext": EMPTY,
    "computerUse": message(
        "ComputerUse",
        environment=enum("Environment", "UNSPECIFIED", "BROWSER", "MOBILE", "DESKTOP", prefix="ENVIRONMENT_"),
        excludedPredefinedFunctions=STRINGS,
        enablePromptInjectionDetection=BOOL,
        disabledSafetyPolicies=STRINGS,
    ),
    "fileSearch": message("FileSearch", fileSearchStoreNames=STRINGS, topK=INT32, metadataFilter=STRING),
    "googleMaps": message("GoogleMaps", enableWidget=BOOL, authConfig=STRUCT, groundingTypes=STRUCT),
    "mcpServers": Repeated(VALUE),
}
VERTEX_TOOLS = each(STRUCT, "retrieval", "enterpriseWebSearch", "parallelAiSearch", "exaAiSearch")
TOOL = message("Tool", functionDeclarations=Repeated(FUNCTION), **HOSTED_TOOLS, vertex=VERTEX_TOOLS)
TOOL_CONFIG = message(
    "ToolConfig",
    functionCallingConfig=message(
        "FunctionCallingConfig",
        mode=enum("FunctionCallingConfig.Mode", "MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"),
        allowedFunctionNames=STRINGS,
        vertex={"streamFunctionCallArguments": BOOL},
    ),
    retrievalConfig=message(
        "RetrievalConfig", latLng=message("LatLng", latitude=DOUBLE, longitude=DOUBLE), languageCode=STRING
    ),
    includeServerSideToolInvocations=BOOL,
)

CATEGORIES = (
    "UNSPECIFIED", "DEROGATORY", "TOXICITY", "VIOLENCE", "SEXUAL", "MEDICAL", "DANGEROUS",
    "HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT", "CIVIC_INTEGRITY", "JAILBREAK",
    "IMAGE_HATE", "IMAGE_DANGEROUS_CONTENT", "IMAGE_HARASSMENT", "IMAGE_SEXUALLY_EXPLICIT",
)  # fmt: skip
SAFETY_SETTING = message(
    "SafetySetting",
    category=enum("HarmCategory", *CATEGORIES, prefix="HARM_CATEGORY_"),
    threshold=enum(
        "SafetySetting.HarmBlockThreshold",
        "HARM_BLOCK_THRESHOLD_UNSPECIFIED",
        "BLOCK_LOW_AND_ABOVE",
        "BLOCK_MEDIUM_AND_ABOVE",
        "BLOCK_ONLY_HIGH",
        "BLOCK_NONE",
        "OFF",
    ),
    vertex={
        "method": enum("SafetySetting.HarmBlockMethod", "HARM_BLOCK_METHOD_UNSPECIFIED", "SEVERITY", "PROBABILITY")
    },
)

THINKING_CONFIG = message(
    "ThinkingConfig",
    includeThoughts=BOOL,
    thinkingBudget=INT32,
    thinkingLevel=enum(
        "ThinkingConfig.ThinkingLevel",
        "THINKING_LEVEL_UNSPECIFIED",
        "LOW",
        "HIGH",
        "MEDIUM",
        "MINIMAL",
        "XHIGH",
    ),
)
VOICE = message(
    "VoiceConfig",
    voice=STRING,
    prebuiltVoiceConfig=message("PrebuiltVoiceConfig", voiceName=STRING),
    **each(STRUCT, "replicatedVoiceConfig", "customVoiceConfig"),
)
SPEAKER = message("SpeakerVoiceConfig", speaker=STRING, voiceConfig=VOICE)
SPEECH_CONFIG = message(
    "SpeechConfig",
    voiceConfig=VOICE,
    multiSpeakerVoiceConfig=message("MultiSpeakerVoiceConfig", speakerVoiceConfigs=Repeated(SPEAKER)),
    languageCode=STRING,
)
IMAGE_CONFIG = message(
    "ImageConfig",
    **each(STRING, "aspectRatio", "imageSize", "personGeneration", "prominentPeople", "outputMimeType"),
    imageOutputOptions=message("ImageOutputOptions", mimeType=STRING, compressionQuality=INT32),
    outputCompressionQuality=INT32,
)
_FREE = ("enableEnhancedCivicAnswers", "audioTranscriptionConfig", "translationConfig", "enableAffectiveDialog")
GENERATION_CONFIG = message(
    "GenerationConfig",
    **each(FLOAT, "temperature", "topP", "presencePenalty", "frequencyPenalty"),
    **each(INT32, "candidateCount", "maxOutputTokens", "seed", "logprobs", "topK"),
    stopSequences=STRINGS,
    responseMimeType=STRING,
    responseSchema=SCHEMA,
    responseJsonSchema=VALUE,
    _responseJsonSchema=VALUE,
    responseFormat=Repeated(
        message(
            "ResponseFormat",
            text=message("TextResponseFormat", mimeType=STRING, schema=VALUE, jsonSchema=VALUE),
            **each(VALUE, "audio", "image", "video"),
        )
    ),
    responseLogprobs=BOOL,
    thinkingConfig=THINKING_CONFIG,
    responseModalities=Repeated(
        enum("GenerationConfig.Modality", "MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO", "VIDEO")
    ),
    mediaResolution=enum("MediaResolution", *RESOLUTIONS[:4], prefix="MEDIA_RESOLUTION_"),
    speechConfig=SPEECH_CONFIG,
    imageConfig=IMAGE_CONFIG,
    **each(VALUE, *_FREE),
    vertex={
        "topK": FLOAT,
        **each(STRUCT, "routingConfig", "modelConfig", "modelSelectionConfig"),
        "audioTimestamp": BOOL,
    },
)

GENERATE = message(
    "GenerateContentRequest",
    model=STRING,
    contents=Repeated(CONTENT),
    systemInstruction=CONTENT,
    tools=Repeated(TOOL),
    toolConfig=TOOL_CONFIG,
    safetySettings=Repeated(SAFETY_SETTING),
    generationConfig=GENERATION_CONFIG,
    cachedContent=STRING,
    serviceTier=enum("ServiceTier", "unspecified", "flex", "standard", "priority"),
    store=BOOL,
    continuationToken=BYTES,
    labels=STRUCT,
    vertex=each(STRUCT, "modelArmorConfig", "outputConfig"),
)
_SETUP = message(
    "BidiGenerateContentSetup",
    model=STRING,
    generationConfig=GENERATION_CONFIG,
    systemInstruction=CONTENT,
    tools=Repeated(TOOL),
    realtimeInputConfig=message(
        "RealtimeInputConfig",
        automaticActivityDetection=message(
            "AutomaticActivityDetection",
            disabled=BOOL,
            **each(INT32, "silenceDurationMs", "prefixPaddingMs"),
            **each(STRING, "startOfSpeechSensitivity", "endOfSpeechSensitivity"),
        ),
        **each(STRING, "activityHandling", "turnCoverage"),
    ),
    **each(
        STRUCT,
        "sessionResumption",
        "contextWindowCompression",
        "inputAudioTranscription",
        "outputAudioTranscription",
        "proactivity",
        "explicitVadSignal",
    ),
)
AUTH_TOKEN = message(
    "AuthToken",
    **each(TIMESTAMP, "expireTime", "newSessionExpireTime"),
    uses=INT32,
    bidiGenerateContentSetup=_SETUP,
    fieldMask=STRING,
)
CLIENT_MESSAGE = message(
    "BidiGenerateContentClientMessage",
    setup=_SETUP,
    clientContent=message("BidiGenerateContentClientContent", turns=Repeated(CONTENT), turnComplete=BOOL),
    realtimeInput=message(
        "BidiGenerateContentRealtimeInput",
        mediaChunks=Repeated(BLOB),
        audio=BLOB,
        video=BLOB,
        text=STRING,
        audioStreamEnd=BOOL,
        **each(STRUCT, "activityStart", "activityEnd"),
    ),
    toolResponse=message("BidiGenerateContentToolResponse", functionResponses=Repeated(FUNCTION_RESPONSE)),
)
COUNT_TOKENS = message(
    "CountTokensRequest",
    model=STRING,
    contents=Repeated(CONTENT),
    generateContentRequest=GENERATE,
    vertex={
        "systemInstruction": CONTENT,
        "tools": Repeated(TOOL),
        "generationConfig": GENERATION_CONFIG,
        "instances": Repeated(VALUE),
    },
)
CACHED_CONTENT = message(
    "CachedContent",
    "ttl",
    "expireTime",
    **each(STRING, "name", "model", "displayName", "kmsKeyName"),
    contents=Repeated(CONTENT),
    systemInstruction=CONTENT,
    tools=Repeated(TOOL),
    toolConfig=TOOL_CONFIG,
    ttl=DURATION,
    expireTime=TIMESTAMP,
    vertex={"encryptionSpec": STRUCT},
)
CREATE_FILE = message(
    "CreateFileRequest",
    file=message("File", **each(STRING, "name", "displayName", "mimeType", "uri"), sizeBytes=INT64, source=VALUE),
)
TASK = enum(
    "TaskType",
    "TASK_TYPE_UNSPECIFIED", "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY", "CLASSIFICATION",
    "CLUSTERING", "QUESTION_ANSWERING", "FACT_VERIFICATION", "CODE_RETRIEVAL_QUERY",
)  # fmt: skip
EMBED = message(
    "EmbedContentRequest",
    model=STRING,
    content=CONTENT,
    taskType=TASK,
    title=STRING,
    outputDimensionality=INT32,
    vertex={
        "autoTruncate": BOOL,
        "embedContentConfig": message(
            "EmbedContentConfig",
            taskType=TASK,
            title=STRING,
            outputDimensionality=INT32,
            **each(BOOL, "autoTruncate", "documentOcr", "audioTrackExtraction"),
        ),
    },
)
BATCH_EMBED = message("BatchEmbedContentsRequest", model=STRING, requests=Repeated(EMBED))
_BATCH_INPUT = message(
    "InputConfig",
    fileName=STRING,
    requests=message(
        "InlinedRequests", requests=Repeated(message("InlinedRequest", request=STRUCT, metadata=STRUCT, key=STRING))
    ),
)
BATCH = message(
    "BatchGenerateContentRequest",
    batch=message(
        "GenerateContentBatch",
        **each(STRING, "name", "displayName", "model"),
        inputConfig=_BATCH_INPUT,
        priority=INT64,
        webhookConfig=STRUCT,
    ),
)
PREDICT = message(
    "PredictRequest",
    instances=Repeated(
        message(
            "Instance",
            taskType=TASK,
            **each(STRING, "content", "title", "mimeType", "prompt"),
            **each(STRUCT, "image", "mask"),
            referenceImages=Repeated(STRUCT),
        )
    ),
    parameters=message(
        "Parameters",
        **each(INT32, "outputDimensionality", "sampleCount", "seed"),
        **each(BOOL, "autoTruncate", "addWatermark", "enhancePrompt", "includeRaiReason", "includeSafetyAttributes"),
        **each(STRING, "aspectRatio", "sampleImageSize", "negativePrompt", "personGeneration", "safetySetting"),
        **each(STRING, "language", "storageUri"),
        guidanceScale=DOUBLE,
        outputOptions=message("OutputOptions", mimeType=STRING, compressionQuality=INT32),
    ),
)
PREDICT_LONG = message(
    "PredictLongRunningRequest", instances=Repeated(STRUCT), parameters=STRUCT, vertex={"labels": STRUCT}
)
FETCH_OPERATION = message("FetchPredictOperationRequest", operationName=STRING)
FILE_SEARCH_STORE = message("FileSearchStore", **each(STRING, "name", "displayName", "embeddingModel"))
_DOCUMENT: dict[str, Any] = {
    "customMetadata": Repeated(
        message(
            "CustomMetadata",
            key=STRING,
            stringValue=STRING,
            numericValue=DOUBLE,
            stringListValue=message("StringList", values=STRINGS),
        )
    ),
    "chunkingConfig": message(
        "ChunkingConfig",
        whiteSpaceConfig=message("WhiteSpaceConfig", maxTokensPerChunk=INT32, maxOverlapTokens=INT32),
    ),
}
IMPORT_FILE = message("ImportFileRequest", fileName=STRING, **_DOCUMENT)
UPLOAD_TO_STORE = message("UploadToFileSearchStoreRequest", **each(STRING, "displayName", "mimeType"), **_DOCUMENT)
