"""A diagram is drawn in both forms, and what a program calls itself and says cannot do anything in either."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

from agentsdk.errors import UserError
from agentsdk.workflow.diagram import Diagram, Edge, Group, Node, NodeKind, Status
from agentsdk.workflow.render import render

SVG = "{http://www.w3.org/2000/svg}"
NASTY = [
    '"] --> x["y',
    "<script>alert(1)</script>",
    "</text><image href='http://127.0.0.1/x'/>",
    "%%{init: {'theme': 'dark'}}%%",
    "end",
    "`code` **bold** &amp; #quot; #35; ]]> --> <!-- -->",
    "1. first\n- second\r\n\x00\x1b\ud800",
    'click n1 "javascript:alert(1)"; style n1 fill:#f00',
    "",
    "\N{RIGHT-TO-LEFT OVERRIDE}kcab 漢字 \N{GRINNING FACE}",
]

REFUND = Diagram(
    "refund",
    (
        Node("start", "refund", "start"),
        Node("fetch", "fetch", notes=("3 retries",), status="done"),
        Node("damage", "damage", group="each"),
        Node("judge", "Judge", "agent", group="beside"),
        Node("pay", "pay", status="undone"),
        Node("back", "take_back", "undo", status="done"),
        Node("ask", "Shall I?", "person"),
    ),
    (
        Edge("start", "fetch"),
        Edge("fetch", "beside"),
        Edge("beside", "pay", "yes"),
        Edge("pay", "back", "undo", kind="undo"),
        Edge("beside", "ask", "fails", kind="failure"),
    ),
    (Group("beside", "side by side"), Group("each", "for each photo", "beside")),
)


def test_as_a_mermaid_flowchart() -> None:
    assert render(REFUND, "mermaid").splitlines()[:20] == [
        "flowchart TD",
        '    n1(["refund"])',
        '    n2["fetch<br/>3 retries"]',
        '    subgraph g1["side by side"]',
        '        subgraph g2["for each photo"]',
        '            n3["damage"]',
        "        end",
        '        n4("Judge")',
        "    end",
        '    n5["pay"]',
        '    n6["take_back"]',
        '    n7[/"Shall I?"/]',
        "    n1 --> n2",
        "    n2 --> g1",
        '    g1 -->|"yes"| n5',
        '    n5 -.->|"undo"| n6',
        '    g1 -.->|"fails"| n7',
        "    classDef done fill:#dcfce7,stroke:#16a34a,color:#0f172a",
        "    class n2,n6 done",
        "    classDef undone fill:#f3e8ff,stroke:#9333ea,color:#0f172a,stroke-dasharray:4",
    ]


def test_as_a_picture() -> None:
    root = ElementTree.fromstring(render(REFUND, "svg"))
    assert root.attrib["aria-label"] == "refund"
    shown = [text.text for text in root.iter(f"{SVG}text")]
    assert sorted(filter(None, shown)) == sorted(
        [
            *("refund", "fetch", "3 retries", "damage", "agent", "Judge", "pay", "undo", "take_back", "a person", "Shall I?"),
            *("side by side", "for each photo", "yes", "fails"),
        ]
    )
    places = {text.text: (float(text.attrib["x"]), float(text.attrib["y"])) for text in root.iter(f"{SVG}text")}
    assert places["refund"][1] < places["fetch"][1] < places["damage"][1] < places["pay"][1]
    assert places["take_back"][0] > places["pay"][0]


def test_the_same_each_time() -> None:
    assert render(REFUND, "svg") == render(REFUND, "svg")


def nasty() -> Diagram:
    """Names, notes, titles and texts of edges that would like to be something else."""
    kinds, statuses = get_args(NodeKind), get_args(Status)
    nodes = [
        Node(f"end {n}", text, kinds[n % len(kinds)], (text, text * 9), f"g {n}", statuses[n % len(statuses)])
        for n, text in enumerate(NASTY)
    ]
    groups = [Group(f"g {n}", text) for n, text in enumerate(NASTY)]
    edges = [Edge(f"g {n}", f"g {n + 1}", text) for n, text in enumerate(NASTY[:-1])]
    return Diagram(NASTY[1], tuple(nodes), tuple(edges), tuple(groups))


def test_a_picture_holds_text_as_text() -> None:
    picture = render(nasty(), "svg")
    picture.encode()
    root = ElementTree.fromstring(picture)
    assert {each.tag.removeprefix(SVG) for each in root.iter()} == {
        *("svg", "defs", "marker", "path", "rect", "g", "title", "text")
    }
    assert not [name for each in root.iter() for name in each.attrib if name.startswith("on") or "href" in name]
    shown = {each.text for each in root.iter(f"{SVG}text")}
    assert "<script>alert(1)</script>" in shown


def test_a_chart_holds_text_as_text() -> None:
    chart = render(nasty(), "mermaid")
    chart.encode()
    for line in chart.splitlines():
        texts = re.findall(r'"([^"]*)"', line)
        assert len(texts) <= 1 and not re.search(r"[<>{}`&%;]", re.sub(r"<br/>|#\d+;", "", "".join(texts)))


@pytest.mark.parametrize("diagram", [REFUND, nasty()], ids=["refund", "nasty"])
def test_mermaid_itself_reads_the_chart(diagram: Diagram, tmp_path: Path) -> None:
    assert parsed(render(diagram, "mermaid"), tmp_path) == "flowchart-v2"


def parsed(chart: str, folder: Path) -> str:
    """The type of a chart as the real Mermaid reads it. Skips where that is not installed; fails where it cannot read it."""
    modules = Path(__file__).parents[2] / ".venv" / "mermaid" / "node_modules"
    node = shutil.which("node")
    if node is None or not (modules / "mermaid").exists():
        pytest.skip("needs node and mermaid: make .venv/.mermaid")
    script = folder / "parse.mjs"
    script.write_text(
        f"""
        import {{ createRequire }} from "module";
        const require = createRequire({json.dumps(str(modules) + "/")});
        const {{ JSDOM }} = require("jsdom");
        globalThis.window = new JSDOM("<body></body>").window;
        globalThis.document = window.document;
        const mermaid = (await import({json.dumps((modules / "mermaid/dist/mermaid.core.mjs").as_uri())})).default;
        console.log((await mermaid.parse({json.dumps(chart)})).diagramType);
        """
    )
    return subprocess.run([node, script], capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def test_another_format() -> None:
    with pytest.raises(UserError, match="'mermaid' or 'svg'"):
        render(REFUND, "png")  # type: ignore[arg-type]
