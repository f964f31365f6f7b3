"""The web face: connections, routes, limits, reload, control API; on Starlette and uvicorn."""
