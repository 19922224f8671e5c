"""The gate in front of MLflow's scoring server: counts requests, refuses above the cap, answers the KServe v2 protocol."""

import asyncio
import json

from penstock_mlflow import kserve


class Gate:
    """ASGI app. Only inference paths are counted and bounded; the keeper's own requests are neither."""

    def __init__(self, app, model, counters, in_flight, launch):
        self.app = app
        self.model = model
        self.counters = counters
        self.in_flight = in_flight
        self.example_request = launch.example_request
        self.max_in_flight = launch.max_in_flight
        self.probe = (launch.probe_header.encode(), launch.probe_secret.encode())
        self.refused_header = launch.refused_header.encode()

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        path = scope["path"]
        is_v2 = path == "/v2" or path.startswith("/v2/")
        if scope["method"] != "POST" or not (path == "/invocations" or (is_v2 and path.endswith("/infer"))):
            return await (self.metadata if is_v2 else self.app)(scope, receive, send)
        handler = self.infer if is_v2 else self.app
        if self.probe in scope["headers"]:
            return await handler(scope, receive, send)
        if self.max_in_flight is not None and self.in_flight.total() >= self.max_in_flight:
            self.counters.refused()
            return await self.refuse(send)
        await self.counted(handler, scope, receive, send)

    async def counted(self, handler, scope, receive, send) -> None:
        status = 0
        answered = False

        async def watch(message):
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            answered = answered or (message["type"] == "http.response.body" and not message.get("more_body", False))

        started_at = self.counters.started()
        try:
            await handler(scope, receive, watch)
        finally:
            self.counters.finished(started_at, failed=status >= 500 or status == 0, answered=answered)

    async def refuse(self, send) -> None:
        body = b'{"error_code": "RESOURCE_EXHAUSTED", "message": "this replica has no room"}'
        await respond(send, 503, body, [(b"retry-after", b"1"), (self.refused_header, b"1")])

    async def infer(self, scope, receive, send) -> None:
        body = await read_body(receive)
        headers = dict(scope["headers"])
        name = scope["path"].split("/")[3]
        try:
            answer, extra = await asyncio.to_thread(kserve.infer, self.model, name, body, headers)
            await respond(send, 200, answer, extra)
        except kserve.BadInput as error:
            await respond_json(send, 400, {"error": str(error)})

    async def metadata(self, scope, receive, send) -> None:
        status, answer = kserve.metadata(self.model, self.example_request, scope["method"], scope["path"])
        await respond_json(send, status, answer)


async def read_body(receive) -> bytes:
    pieces = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError("the client is gone")
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)


async def respond_json(send, status: int, answer) -> None:
    await respond(send, status, json.dumps(answer).encode(), [])


async def respond(send, status: int, body: bytes, extra) -> None:
    content_type = [] if any(name == b"content-type" for name, _ in extra) else [(b"content-type", b"application/json")]
    headers = [*content_type, (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
