"""Conversations that the provider keeps, and the items in them."""

from mockserver.kinds.objects import list_object_kinds, name_objects

CONVERSATIONS = name_objects("conversation", "conversation", "update_conversation", "delete_conversation")
ITEMS = name_objects("conversation_item", "conversation_item", "delete_conversation_item", plural="conversation_items")
OPERATIONS = list_object_kinds(CONVERSATIONS, ITEMS)
