"""WebSockets: what clients and this server say to each other over one, and what providers say over theirs.

A session (`socket_session.py`) takes frames, and answers each as if it were a request over HTTP. What the protocols say
in these frames is known to `responses_session.py`, `realtime_session.py` and `gemini_live.py`.
"""
