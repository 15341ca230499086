"""A client of pyright's language server: what an editor shows of a program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[1]


class LanguageServer:
    """Hover texts and completions of `source`, as if it were a file of this project. A place is the end of a text in it."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._uri = (ROOT / "edited_program.py").as_uri()
        self._requests = 0
        command = [str(Path(sys.executable).with_name("pyright-langserver")), "--stdio"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Self:
        capabilities = {"textDocument": {"hover": {"contentFormat": ["markdown"]}}}
        folders = [{"uri": ROOT.as_uri(), "name": "project"}]
        self._ask("initialize", processId=None, rootUri=ROOT.as_uri(), capabilities=capabilities, workspaceFolders=folders)
        self._send(method="initialized", params={})
        document = {"uri": self._uri, "languageId": "python", "version": 1, "text": self._source}
        self._send(method="textDocument/didOpen", params={"textDocument": document})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        with self._process:
            pass

    def hover(self, after: str) -> str:
        """What is shown over the word that ends with the text `after`, Markdown."""
        shown = self._ask("textDocument/hover", textDocument={"uri": self._uri}, position=self._place(after, -1))
        return shown["contents"]["value"].replace("  \n", "\n") if shown else ""

    def completions(self, after: str) -> list[str]:
        """What is offered after that text, in the order in which an editor shows it."""
        offered = self._ask("textDocument/completion", textDocument={"uri": self._uri}, position=self._place(after, 0))
        return [item["label"] for item in sorted(offered["items"], key=lambda item: item["sortText"])]

    def _place(self, after: str, back: int) -> dict[str, int]:
        before = self._source[: self._source.index(after) + len(after) + back]
        return {"line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}

    def _ask(self, method: str, **params: Any) -> Any:
        self._requests += 1
        self._send(id=self._requests, method=method, params=params)
        while True:
            message = self._read()
            if "method" in message and "id" in message:  # the server asks for settings: there are none
                self._send(id=message["id"], result=[None] * len(message["params"].get("items", [])))
            elif message.get("id") == self._requests:
                return message["result"]

    def _send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self._process.stdin.flush()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b": ")
            length = int(value) if name == b"Content-Length" else length
        assert length, "the language server has ended"
        return json.loads(self._process.stdout.read(length))
