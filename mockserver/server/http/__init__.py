"""HTTP connections, for uvicorn's server. Start at `ConnectionProtocol` (protocol.py): it tells the way of a request.

Each module has one concern:

- protocol.py: a connection of HTTP/1.1, whose first bytes show what its client speaks; its cycles and paced streams
- http2.py: a connection that has begun with HTTP/2, and its cycles
- socket_protocol.py: a connection that has become a WebSocket
- any_connection.py: what all of them have: a place in the server, a deadline and an end; what those of a server share
- request_cycle.py: a request and its answer in a task, as ASGI has them
- pipeline.py: the order of the requests of a connection of HTTP/1.1
- parser.py: bytes become requests, or refusals of what proxies may read otherwise; no I/O
- framing.py: how an answer is framed for its client; no I/O
- deadlines.py: one timer for the deadlines of all connections
- newcomers.py: turns for others while a crowd connects
- tcp.py: how fast bytes come and go, what the client has not taken, resets

Of uvicorn they use what it gives to a protocol: its configuration, and the state of its server. The protocols that it
brings have no place for what these do:

- a deadline for each head and body, and an end for quiet and half-closed connections
- bounds on heads, chunked framing and trailers, and a refusal of ambiguous requests
- connections that are cut or reset on purpose, and bodies longer or shorter than stated: these are faults
- an answer in the turn in which its request came, without a task and its scope
- the head of the request before, if a client repeats it (`KnownHead`): a quarter less time for an answer
"""
