"""Write the page of examples: `python scripts/examples_page.py > docs/examples.md`. It is what their docstrings say."""

from __future__ import annotations

import ast
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"

HEAD = """# Examples

Each is a program of about a page in the folder `examples`, and the tests run it. Most need no key: they run on the
[local model](local.md) (`make demo` fetches it), and unchanged on the model that `AGENTSDK_MODEL` names. This page
is printed from their docstrings by `scripts/examples_page.py`.

```sh
python examples/hello.py
AGENTSDK_MODEL=anthropic:claude-sonnet-4-5 python examples/hello.py   # with ANTHROPIC_API_KEY
```

The smallest of them:

```python
from agentsdk import Agent, Runner

agent = Agent(name="Assistant", instructions="Answer in one short sentence.")
result = Runner.run_sync(agent, "Say hello.")
print(type(result.final_output).__name__)
```

```output
str
```

| Example | What it shows |
|---|---|
"""


def main() -> None:
    rows: list[str] = []
    for path in sorted({*EXAMPLES.glob("*.py")} - {*EXAMPLES.glob("test_*.py")}):
        first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
        rows.append(f"| [{path.stem.replace('_', ' ')}](../examples/{path.name}) | {first} |\n")
    print(HEAD + "".join(rows), end="")


if __name__ == "__main__":
    main()
