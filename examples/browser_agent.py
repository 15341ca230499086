"""A browser agent: on the site of a small shop it looks for a chair, and orders it. A real Chromium, a real site on loopback.

    pip install 'agentsdk[browser]'               # and a Chromium: on the path, or named by AGENTSDK_CHROMIUM
    python examples/browser_agent.py              # the steps of a model are written down here: the local one sees no images
    python examples/browser_agent.py --save a.png # and the last screenshot
    AGENTSDK_MODEL=openai:gpt-5 python examples/browser_agent.py   # a model with a computer tool, or one that sees images

The browser reaches this one site only.
"""

import asyncio
import base64
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agentsdk import Agent, FunctionCall, Runner, UserError
from agentsdk.items import InputImage, ToolCallItem, ToolCallOutputItem
from agentsdk.testing import ScriptedModel
from agentsdk.tools import ChromiumBrowser, ComputerTool

STYLE = """<style>body { font: 20px sans-serif; margin: 30px } li { margin: 14px; height: 40px }
    input, button, a { font: 20px sans-serif; height: 40px; position: absolute; left: 400px; min-width: 80px }
    #oak { top: 105px } #beech { top: 160px } #to { top: 250px; width: 300px } #order { top: 310px }</style>"""
HOME = f"""{STYLE}<title>Chairs</title><h1>Chairs</h1><ul>
    <li>An oak chair, 120 euros <a id=oak href=/order>order</a></li>
    <li>A beech chair, 95 euros <a id=beech href=/order?beech>order</a></li></ul>"""
ORDER = f"""{STYLE}<title>Your order</title><h1>Your order</h1><p>A beech chair, 95 euros</p>
    <form action=/done><p>Send it to</p><input id=to name=to><button id=order>Order</button></form>"""
DONE = f"{STYLE}<title>Thank you</title><h1>Thank you</h1><p>A beech chair is on its way. Its number is 1815.</p>"


class Shop(BaseHTTPRequestHandler):
    """The site."""

    def do_GET(self) -> None:
        """Answer with a page."""
        path = self.path.partition("?")[0]
        body = {"/": HOME, "/order": ORDER, "/done": DONE}.get(path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def computer(*actions: dict[str, Any]) -> FunctionCall:
    """A call as OpenAI's models make them."""
    return FunctionCall("", "computer", json.dumps({"actions": actions}), kind="computer")


STEPS: list[FunctionCall | str] = [
    computer({"type": "screenshot"}),
    computer({"type": "click", "x": 425, "y": 175}),
    computer(
        {"type": "click", "x": 450, "y": 270},
        {"type": "type", "text": "Ada, 12 Mill Lane"},
        {"type": "keypress", "keys": ["ENTER"]},
    ),
    "I have ordered the beech chair, the cheapest. Its number is 1815.",
]


def screenshot_of(item: ToolCallOutputItem) -> bytes:
    """The image in a result."""
    (image,) = [part for part in item.output if isinstance(part, InputImage)]
    return base64.b64decode(image.image_url.partition(",")[2])


async def order(address: str, model: Any) -> list[bytes]:
    """Run the agent, say what it does, and return what it saw."""
    # What a page says can do no harm here: the browser reaches this site only. So no step waits for a person.
    reach = ["127.0.0.1"]
    async with ChromiumBrowser(
        allowed_hosts=reach, allowed_networks=reach, start_url=address, size=(800, 500), seconds=60, unsafe=True
    ) as browser:
        agent = Agent[Any, str](name="Buyer", model=model, tools=[ComputerTool(browser, allowed_after_untrusted=True)])
        result = await Runner.run(agent, "Order the cheapest chair for Ada, 12 Mill Lane.")
    shots: list[bytes] = []
    for item in result.new_items:
        if isinstance(item, ToolCallItem):
            actions = json.loads(item.raw_item.arguments)["actions"]
            print("does:", ", ".join(action["type"] for action in actions))
        elif isinstance(item, ToolCallOutputItem) and isinstance(item.output, str):
            print("fails:", item.output)
        elif isinstance(item, ToolCallOutputItem):
            said = json.loads("".join(getattr(part, "text", "") for part in item.output))
            print("sees:", said["url"].removeprefix(address[:-1]))
            shots.append(screenshot_of(item))
    print(result.final_output)
    return shots


def main() -> None:
    """Open the shop, and send the agent there."""
    given = sys.argv[1:]
    site = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    try:
        model = os.environ.get("AGENTSDK_MODEL") or ScriptedModel(STEPS)
        shots = asyncio.run(order(f"http://127.0.0.1:{site.server_port}/", model))
        if "--save" in given and shots:
            with open(given[given.index("--save") + 1], "wb") as file:
                file.write(shots[-1])
    except UserError as error:
        print(f"This example cannot run here: {error}")
    finally:
        site.shutdown()
        thread.join()
        site.server_close()


if __name__ == "__main__":
    main()
