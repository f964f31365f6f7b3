"""HTTP connections, for uvicorn's server. Start at `ConnectionProtocol` (protocol.py).

Of uvicorn we use the server with its start and stop, the cycle of an application (`RequestResponseCycle`) and the flow
control. The protocol class is our own, since uvicorn's has no place for what it does:

- a deadline for each head and body, and an end for quiet and half-closed connections (`DeadlineWatch`)
- bounds on heads, chunked framing and trailers, and a refusal of what proxies may read otherwise (`RequestParser`)
- turns for others while a crowd connects (`Newcomers`)
- connections that are cut or reset on purpose, and bodies longer or shorter than stated: these are faults
- an answer in the turn in which its request came (`ConnectionProtocol.answer`), without a task and its scope
- the head of the request before, if a client repeats it (`KnownHead`): a quarter less time for an answer
"""
