"""HTTP connections, for uvicorn's server. Start at `ConnectionProtocol` (protocol.py).

Of uvicorn we use the server with its start and stop, and the flow control. The protocol and its cycles
(`RequestCycle`) are our own, since uvicorn's have no place for what they do:

- a deadline for each head and body, and an end for quiet and half-closed connections (`DeadlineWatch`)
- bounds on heads, chunked framing and trailers, and a refusal of what proxies may read otherwise (`RequestParser`)
- turns for others while a crowd connects (`Newcomers`)
- connections that are cut or reset on purpose, and bodies longer or shorter than stated: these are faults
- an answer in the turn in which its request came, without a task and its scope (`ConnectionProtocol.answer`)
- the head of the request before, if a client repeats it (`KnownHead`): a quarter less time for an answer
"""
