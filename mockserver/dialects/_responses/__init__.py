"""The Responses API: its request as OpenAI and vLLM take it, and the replies of all who speak it."""
