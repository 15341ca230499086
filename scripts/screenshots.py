"""Take pictures of the page of runs: `python scripts/screenshots.py`, into docs/. It needs playwright and a Chromium."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.async_api import async_playwright

from agentsdk import Agent, FunctionCall, FunctionCallOutput, MemoryRunStore, ModelRequest, RunConfig, Runner, function_tool
from agentsdk.testing import ScriptedModel, call
from agentsdk.ui import app
from tests.asgi_server import listening
from tests.local_tools.chromium import chromium

DOCS = Path(__file__).parents[1] / "docs"
SIZE = {"width": 1280, "height": 760}


@function_tool(effect="none")
async def find_order(number: int) -> dict[str, object]:
    """Find an order by its number."""
    await asyncio.sleep(0.06)
    return {"order": number, "total": 49.5, "paid": True}


@function_tool(needs_approval=True)
def refund(order: int, amount: float) -> str:
    """Pay an order back."""
    return f"{amount} euros of order {order} are paid back."


def _replies(request: ModelRequest) -> str | FunctionCall | list[FunctionCall]:
    results = sum(isinstance(item, FunctionCallOutput) for item in request.items)
    if results == 0:
        return [call("find_order", number=1815), call("find_order", number=1816)]
    if results == 2:
        return call("ask_accounting", input="Was order 1815 paid by card?")
    return call("refund", order=1815, amount=49.5) if results == 3 else "49.50 euros are on their way to your card."


def _clerk() -> Agent[None, str]:
    accounting = Agent[None, str](
        name="Accounting", model=ScriptedModel([call("find_order", number=1815), "Yes, by card."] * 9), tools=[find_order]
    )
    asks = accounting.as_tool(tool_name="ask_accounting", tool_description="Ask accounting.")
    tools = [find_order, refund, asks]
    return Agent[None, str](name="Clerk", instructions="Help with orders.", model=ScriptedModel([_replies] * 99), tools=tools)


async def main() -> None:
    """Take them."""
    store, clerk = MemoryRunStore(), _clerk()
    for number in (1811, 1812, 1815):
        config = RunConfig(store=store, run_id=f"refund-{number}", metadata={"user": "ada"}, tracing_disabled=True)
        await Runner.run(clerk, "Please pay order 1815 back.", run_config=config)
    application = app(store, agents=clerk)
    async with listening(application) as url, async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--no-zygote"])
        for scheme in ("light", "dark"):
            page = await browser.new_page(viewport=SIZE, color_scheme=scheme)
            await page.goto(f"{url}/#token={application.state.token}")
            await page.wait_for_selector("table.runs tbody tr")
            await page.goto(f"{url}/#/run/refund-1815/7")
            await page.wait_for_selector(".detail .conversation")
            await page.keyboard.press("2")
            await page.keyboard.press("s")
            await page.wait_for_selector(".changes")
            await page.screenshot(path=DOCS / f"ui-{scheme}.png")
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
