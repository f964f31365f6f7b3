"""OpenAI's API, which others resemble: each kind of request as a Call, and its answers.

Dialects take what they need of it, and say what differs. `api.py` has the operations that most of them share.
`*_models` are tables of fields, `replay.py` finds changed histories that the live API refuses, `lenient.py` reads what
it would refuse, for `validation: off`.
"""
