"""Structured extraction: a folder of documents to typed objects, some at once; what cannot be read is told, and the cost.

    pip install 'agentsdk[local,prices]' && python -m agentsdk.models.local    # a local model; or AGENTSDK_MODEL and a key
    python examples/extraction.py              # the three documents below
    python examples/extraction.py folder       # each *.txt and *.md in a folder

The schema holds any model to the form. That a fact stands in the document is checked by a validator, which small models need.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

import agentsdk
from agentsdk import Agent, ModelSettings, RunConfig, Runner, RunResult
from agentsdk.errors import AgentsException, InvalidOutputError
from agentsdk.output import ModelRetry, ValidatorContext

DOCUMENTS = {
    "chairs.txt": "Chairs Ltd. Invoice of 3 May. Two oak chairs. Total: 120 EUR. Please pay within 14 days.",
    "lamps.txt": "LAMPS & CO, Invoice 77. 1 desk lamp, 49. 1 bulb, 3. Total: 52 USD",
    "letter.txt": "Dear Ada, thank you for your visit. The weather here is fine. Yours, Ben",
}


class Invoice(BaseModel):
    """An invoice."""

    vendor: Annotated[str, Field(max_length=20)]  # bounds keep a small model from running on for ever
    total: Annotated[int, Field(ge=0, le=99_999, description="the total, a whole number")]
    currency: Literal["EUR", "USD"]


def stands_there(context: ValidatorContext[str], invoice: Invoice) -> None:
    """A rule that no schema can say. Where it is broken, the model is told so, and answers again."""
    if str(invoice.total) not in re.findall(r"\d+", context.context):
        raise ModelRetry(f"The document does not say {invoice.total}. Take the total that it says.")


reader = Agent[str, Invoice](
    name="Reader",
    instructions="Extract the invoice: the vendor, the total and its currency.",
    output_type=Invoice,
    output_validators=[stands_there],
    model_settings=ModelSettings(temperature=0, max_tokens=80),
)
config = RunConfig(max_output_retries=1)  # prices={...} for a model that the price lists do not know


async def read(text: str, at_once: asyncio.Semaphore) -> RunResult[Invoice] | AgentsException:
    """One document. One that cannot be read does not stop the others; that the provider is away or a key is wrong does."""
    async with at_once:
        try:
            return await Runner.run(reader, text, context=text, run_config=config)
        except InvalidOutputError as error:
            return error


async def main(documents: dict[str, str]) -> None:
    at_once = asyncio.Semaphore(4)
    found = await asyncio.gather(*(read(text, at_once) for text in documents.values()))
    results = [one for one in found if isinstance(one, RunResult)]
    for name, one in zip(documents, found, strict=True):
        if isinstance(one, RunResult):
            print(f"{name}: {one.final_output.vendor}, {one.final_output.total} {one.final_output.currency}")
        else:
            print(f"{name}: not read: {str(one).partition('; resume')[0]}")
    costs = [result.cost for result in results]
    cost = "of unknown price" if None in costs else f"{sum(cost for cost in costs if cost is not None):.4f} dollars"
    tokens = sum(result.usage.total_tokens for result in results)
    print(f"[{len(results)} of {len(found)} read: {tokens} tokens, {cost}]")
    await agentsdk.aclose()


if __name__ == "__main__":
    folder = [path for path in sorted(Path(sys.argv[1]).iterdir()) if path.suffix in (".txt", ".md")] if sys.argv[1:] else []
    asyncio.run(main({path.name: path.read_text(encoding="utf-8") for path in folder} or DOCUMENTS))
