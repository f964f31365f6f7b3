"""What several servers remember together, in Redis.

`opening.py` reads the URL and checks what is there; `line.py` sends commands and knows whether the state is lost; the
stores keep the promises of `core/protocols.py`, each step as one Lua script in a file of its name.
"""
