"""Many documents, an agent for each, a few at once; one cannot be read, and the report says so.

python examples/document_pipeline.py    # its models follow a script
"""

import asyncio

from pydantic import BaseModel

from agentsdk import Agent, ModelRequest
from agentsdk.errors import StepFailedError
from agentsdk.testing import ScriptedModel
from agentsdk.workflow import flow, step, workflow


class Facts(BaseModel):
    vendor: str
    cents: int


class Finding(BaseModel):
    document: str
    facts: Facts | None  # None where it could not be read
    why: str = ""


class Report(BaseModel):
    total: int
    unread: list[str]
    summary: str


FOLDER = {
    "chairs.txt": "Chairs Ltd. asks for 120.00 for two chairs.",
    "lamps.txt": "Lamps & Co. asks for 49.50 for a lamp.",
    "paint.txt": "",
    "tables.txt": "Tables Inc. asks for 300.00 for a table.",
}


@step(effect="none")
async def list_documents(folder: str) -> list[str]:
    return sorted(FOLDER)


@step(effect="none", retry=1)
async def read(document: str) -> str:
    if not FOLDER[document]:
        raise ValueError(f"{document} is empty")
    return FOLDER[document]


def extract(request: ModelRequest) -> str:
    """What a model would find in a document: the documents come in any order."""
    text = str(request.items[-1])
    vendor, cents = next(one for one in [("Chairs", 12000), ("Lamps", 4950), ("Tables", 30000)] if one[0] in text)
    return Facts(vendor=vendor, cents=cents).model_dump_json()


reader = Agent(
    name="Reader",
    instructions="Find the vendor and the amount in cents.",
    output_type=Facts,
    model=ScriptedModel([extract] * 3),
)
reporter = Agent(
    name="Reporter",
    instructions="Sum the findings up in one sentence.",
    model=ScriptedModel(["Three invoices, of which that for tables is the largest."]),
)


async def find(document: str) -> Finding:
    """One document: an async function that calls steps can be mapped as well as a step."""
    try:
        text = await read(document)
    except StepFailedError as error:
        return Finding(document=document, facts=None, why=f"{error.error_type}: {error.detail}")
    facts = await flow.agent(reader, text)
    return Finding(document=document, facts=facts)


@workflow
async def report(folder: str) -> Report:
    documents = await list_documents(folder)
    findings = await flow.each(find, documents, limit=2)  # at most two at once, results in order
    unread = [f"{finding.document} ({finding.why})" for finding in findings if finding.facts is None]
    read = [finding.facts for finding in findings if finding.facts is not None]
    summary = await flow.agent(reporter, read)
    return Report(total=sum(facts.cents for facts in read), unread=unread, summary=summary)


async def main() -> None:
    result = await report.run("invoices")
    print(f"total:   {result.final_output.total / 100:.2f}")
    print(f"unread:  {', '.join(result.final_output.unread)}")
    print(f"summary: {result.final_output.summary}")
    print(f"[{result.usage.requests} requests, over all documents]")


if __name__ == "__main__":
    asyncio.run(main())
