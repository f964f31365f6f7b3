"""Look-ups of what was kept: responses and chats, told page by page."""
