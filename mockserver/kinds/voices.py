"""Voices of the user's own, and the recordings in which people agree to them."""

from mockserver.kinds.objects import list_object_kinds, name_objects

VOICES = name_objects("voice", "delete_voice", plural="voices")
CONSENTS = name_objects(
    "voice_consent", *("voice_consent", "update_voice_consent", "delete_voice_consent"), plural="voice_consents"
)
OPERATIONS = list_object_kinds(VOICES, CONSENTS)
