"""A call that another company answers: the run rests until its web hook comes, and a worker goes on with it then.

python examples/external_webhook.py     # the worker, a web server for the hook, and the company that calls it
"""

import asyncio
import hashlib
import hmac
import json
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import agentsdk
from agentsdk import (
    Agent,
    ModelSettings,
    RunConfig,
    RunConflictError,
    Runner,
    RunStore,
    SQLiteRunStore,
    UserError,
    Worker,
    function_tool,
)
from agentsdk.runs import Decision, PendingCall

RUN_ID = "passport-7"
KEY = b"what the company and we both know"


@dataclass
class Verdict:
    valid: bool
    until: str


@function_tool(external=True, timeout=86_400)
def check_passport(number: int) -> Verdict:
    """Have a passport checked."""
    raise NotImplementedError("the passport office answers")


# The call is forced because a small model would often rather talk, and what the tool returns is the answer.
clerk = Agent[None, str](
    name="Clerk",
    tools=[check_passport],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="check_passport", temperature=0, max_tokens=60),
)


def signature(body: bytes) -> str:
    return hmac.new(KEY, body, hashlib.sha256).hexdigest()


@asynccontextmanager
async def hook_server(config: RunConfig) -> AsyncGenerator[int]:
    """A web server that takes answers; its port. It needs the store, and neither the agent nor a model."""
    loop = asyncio.get_running_loop()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not hmac.compare_digest(signature(body), self.headers.get("X-Signature", "")):
                self.reply(401, "who are you?")
                return
            given = json.loads(body)
            decision = Decision(given["call_id"], "answer", answer=given["answer"], by="passport office")
            posted = Runner.decide(given["run_id"], decision, run_config=config)
            try:
                asyncio.run_coroutine_threadsafe(posted, loop).result()
            except UserError as error:
                self.reply(422, str(error).splitlines()[1])
            except RunConflictError:
                self.reply(409, "it is answered already")
            else:
                self.reply(200, "thank you")

        def reply(self, status: int, text: str) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:
            """It says nothing of each request."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    serving = asyncio.create_task(asyncio.to_thread(server.serve_forever, 0.05))
    try:
        yield server.server_port
    finally:
        server.shutdown()
        await serving
        server.server_close()


def call_hook(port: int, call: PendingCall, answer: object) -> str:
    """What the company does when it knows the answer, and once more where it is not sure that we got it."""
    body = json.dumps({"run_id": RUN_ID, "call_id": call.call_id, "answer": answer}).encode()
    connection = HTTPConnection("127.0.0.1", port)
    try:
        connection.request("POST", "/answers", body, {"X-Signature": signature(body)})
        response = connection.getresponse()
        return f"{response.status} {response.read().decode()}"
    finally:
        connection.close()


async def until(store: RunStore, status: str) -> None:
    """Return once the run has this status."""
    while (summary := await store.summary(RUN_ID)) is None or summary.status != status:
        await store.wait(RUN_ID, 0 if summary is None else summary.rev, 5)


async def main() -> None:
    store = SQLiteRunStore("runs.db")
    config = RunConfig(store=store)
    worker = Worker(store, agents=[clerk])
    working = asyncio.create_task(worker.run())
    await Runner.submit(clerk, "Please check passport 4711.", run_id=RUN_ID, run_config=config)
    await until(store, "waiting")
    (call,) = (await Runner.load(RUN_ID, run_config=config)).interruptions
    print(f"waits:    {call.tool_name}({call.arguments})")

    async with hook_server(config) as port:
        for answer in ({"valid": "yes"}, {"valid": True, "until": "2031-05-01"}, {"valid": False, "until": ""}):
            print(f"hook:     {await asyncio.to_thread(call_hook, port, call, answer)}")

    await until(store, "finished")
    print(f"finished: {(await Runner.drive(clerk, RUN_ID, run_config=config)).final_output}")
    worker.stop()
    await working
    await store.aclose()
    await agentsdk.aclose()


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # in a new folder, with an empty store
    asyncio.run(main())
