"""What several servers remember together, in Redis.

`client.py` reads the URL, checks what is there, sends commands and knows whether the state is lost; the stores keep the
promises of `core/state.py` and `core/rates.py`, each step as one Lua script in a file of its name; `member.py` knows
the other servers.
"""
