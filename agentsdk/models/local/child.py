"""The child process: llama.cpp's HTTP server, for as long as its parent lives.

Run as a script with its options as one line of JSON on stdin, so that the key stands in no process list. Reports the address
on stdout once the server listens. The parent's end of stdin is closed by the kernel however the parent dies: that is the
order to exit. It imports nothing of the SDK and so starts at once.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from typing import Any


def main() -> None:
    """Serve until stdin ends."""
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    options = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_exit_with_parent, daemon=True).start()

    # A compiled module without types.
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = options["weights"]
    params.n_ctx = options["context"] * options["parallel"]
    params.n_parallel = options["parallel"]
    params.cpuparams.n_threads = options["threads"]
    params.cpuparams_batch.n_threads = options["threads"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [options["key"]]
    params.cache_ram_mib = 256
    params.enable_reasoning = 0
    params.ui = False
    params.warmup = False
    if options["pooling"]:
        params.embedding = True
        params.n_batch = params.n_ubatch = options["context"]  # a text is embedded in one piece
        if options["pooling"] != "model":
            params.pooling_type = getattr(xllamacpp.llama_pooling_type, f"LLAMA_POOLING_TYPE_{options['pooling'].upper()}")
    params.verbosity = 1
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        # llama.cpp has said why, and says it with the last flush of a regular exit.
        sys.exit(1)
    with report:
        report.write(server.listening_address + "\n")
    threading.Event().wait()


def _exit_with_parent() -> None:
    # Not sys.stdin, whose lock a regular exit of the main thread would wait for.
    os.read(0, 1)
    os._exit(0)


if __name__ == "__main__":
    main()
