"""OpenAI's API, which others resemble: each kind of request, as a Call, and its answers.

Of each, dialects take what they need, and say what differs. `*_models` are the tables of fields, `*_replay` the changed
histories that the live API refuses.
"""
