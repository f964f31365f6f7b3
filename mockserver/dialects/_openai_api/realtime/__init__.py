"""Realtime as OpenAI has it (https://platform.openai.com/docs/guides/realtime): sessions, events, turns, calls."""
