"""Plant known faults, one at a time, in a copy of the tree, and demand that the tests of core and engine catch each.

    python scripts/mutants.py             # all
    python scripts/mutants.py handoff     # those whose name holds the word

Exit status 1 if a fault survives, 2 if one can no longer be planted because the code it changes has changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ["tests/core", "tests/engine"]
TIMEOUT = 600


@dataclass(frozen=True)
class Mutant:
    """One fault: in `path`, `old` (found exactly once) becomes `new`."""

    name: str
    path: str
    old: str
    new: str


MUTANTS = [
    Mutant(
        "priority swapped: handoff before interruption",
        "agentsdk/core/next_step.py",
        "(_interruption, _handoff, _tool_use_is_final, _final_output)",
        "(_handoff, _interruption, _tool_use_is_final, _final_output)",
    ),
    Mutant(
        "priority swapped: final tool before handoff",
        "agentsdk/core/next_step.py",
        "(_interruption, _handoff, _tool_use_is_final, _final_output)",
        "(_interruption, _tool_use_is_final, _handoff, _final_output)",
    ),
    Mutant(
        "an event dropped: the last of an append",
        "agentsdk/engine/journal.py",
        "            for event in events:\n                state = apply(state, event)\n",
        "            for event in events[:-1] or events:\n                state = apply(state, event)\n",
    ),
    Mutant(
        "an event dropped: not in the log",
        "agentsdk/core/state.py",
        '"log", state.log.extended((event,)))',
        '"log", state.log if type(event) is ToolsIntended else state.log.extended((event,)))',
    ),
    Mutant(
        "turn count off by one: a reply not counted",
        "agentsdk/core/state.py",
        '_set(state, "turns", state.turns + 1)',
        '_set(state, "turns", state.turns)',
    ),
    Mutant(
        "turn count off by one: a turn too many",
        "agentsdk/core/limits/run_limits.py",
        "all_turns + reserved >= limits.turns",
        "all_turns > limits.turns",
    ),
    Mutant(
        "turn count off by one: a turn too few",
        "agentsdk/core/limits/run_limits.py",
        "all_turns + reserved >= limits.turns",
        "all_turns + 1 >= limits.turns",
    ),
    Mutant(
        "approval ignores its arguments: not checked",
        "agentsdk/engine/tool_calls.py",
        "decided.tool != call.name or decided.digest != run.approval_key(call)",
        "decided.tool != call.name",
    ),
    Mutant(
        "approval ignores its arguments: not in the hash",
        "agentsdk/core/arguments.py",
        "clean_text(call_id), canonical_arguments(arguments_text)]",
        "clean_text(call_id)]",
    ),
    Mutant(
        "a finished call run again on resume",
        "agentsdk/engine/tool_calls.py",
        "if asked.call_id in turn.results or asked.call_id in turn.in_doubt:",
        "if asked.call_id in turn.in_doubt:",
    ),
    Mutant(
        "a begun call run again on resume",
        "agentsdk/engine/tool_calls.py",
        'if is_begun and spec.effect == "once"',
        'if is_begun and spec.effect == "none"',
    ),
    Mutant(
        "a pair lost: a call committed without its result",
        "agentsdk/core/state.py",
        "    for item in output:\n        if type(item) is FunctionCall:\n            items",
        "    for item in output:\n        if type(item) is FunctionCall and item.call_id in results:\n            items",
    ),
    Mutant("a pair lost: a history not repaired", "agentsdk/core/pairing.py", "missing.append(item)", "pass"),
    Mutant(
        "a truncated reply accepted: cut at its length",
        "agentsdk/engine/model_call.py",
        'if response.finish in ("stop", "tool_calls"):',
        'if response.finish in ("stop", "tool_calls", "length"):',
    ),
    Mutant(
        "a truncated reply accepted: never finished",
        "agentsdk/engine/model_call.py",
        'if response.finish in ("stop", "tool_calls"):',
        'if response.finish in ("stop", "tool_calls", "unknown"):',
    ),
    Mutant(
        "a handoff lost: the step not taken",
        "agentsdk/core/next_step.py",
        "        if call.call_id not in turn.results:\n            return Handoff(call, handoff)\n",
        "        if call.call_id in turn.results:\n            return Handoff(call, handoff)\n",
    ),
    Mutant(
        "a handoff lost: the agent not switched",
        "agentsdk/core/state.py",
        "_replace(_commit(state), agent=event.agent, used_tools=False, windows={})",
        "_replace(_commit(state), used_tools=False, windows={})",
    ),
    Mutant(
        "durability lost: an append not waited for",
        "agentsdk/engine/recorder.py",
        "            self._queue += events\n            await self._durable()\n",
        "            self._queue += events\n            self._start_writing()\n",
    ),
    Mutant(
        "durability lost: an intent not waited for",
        "agentsdk/engine/recorder.py",
        'if level == "batch" or (have_effect and level not in ("sync", "exit")):',
        "if False:",
    ),
    Mutant(
        "two owners: the revision not looked at",
        "agentsdk/ports/run_store.py",
        "    if rev != expected_rev:",
        "    if False:",
    ),
    Mutant(
        "two owners: the lease not looked at",
        "agentsdk/types/summary.py",
        "return owner != self.owner and self.held_until > now",
        "return False",
    ),
    Mutant(
        "an approval for another tool",
        "agentsdk/engine/tool_calls.py",
        'return recorded in ("", fingerprint)',
        "return True",
    ),
    Mutant(
        "overshoot: others' reservations not counted",
        "agentsdk/core/limits/budget.py",
        "if used + asked + getattr(self.reserved, kind) > limit:",
        "if False:",
    ),
    Mutant(
        "overshoot: the cap not sent",
        "agentsdk/engine/limits/reservation.py",
        "        if cap is None or (given is not None and given <= cap):",
        "        if True:",
    ),
    Mutant(
        "a span hangs under an ended turn",
        "agentsdk/engine/spans.py",
        "        turn, run.span = run.span, self._outer\n",
        "        turn = run.span\n",
    ),
    Mutant(
        "a guardrail unasked: a verdict of another of its name counts",
        "agentsdk/define/guardrail.py",
        "        placed.append(((name, seen[name], occurrences[name]), guardrail))\n",
        "        placed.append(((name, 0, 1), guardrail))\n",
    ),
    Mutant(
        "a result shown before its guardrails have judged it",
        "agentsdk/core/state.py",
        "    if result.is_withheld:\n        return output_of(call, WITHHELD, True)\n",
        "",
    ),
    Mutant(
        "a loop not noticed",
        "agentsdk/core/limits/loops.py",
        "if matches >= period * (rounds - 1):",
        "if matches >= period * (rounds + 1):",
    ),
]


def outcome(mutant: Mutant | None) -> tuple[str, str]:
    """`caught`, `survived` or `stale`, and the test that tells. Without a mutant the tests must pass: `passed`."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder)
        ignore = shutil.ignore_patterns("__pycache__")
        for name in ("agentsdk", "tests"):
            shutil.copytree(ROOT / name, copy / name, ignore=ignore)
        shutil.copy(ROOT / "pyproject.toml", copy)
        if mutant is not None:
            module = copy / mutant.path
            text = module.read_text(encoding="utf-8") if module.exists() else ""
            if (count := text.count(mutant.old)) != 1:
                return "stale", f"{mutant.path} holds {mutant.old!r} {count} times, expected once: write the mutant anew"
            module.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
        pytest = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", *TESTS]
        try:
            done = subprocess.run(pytest, cwd=copy, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return "caught", f"the tests hang (more than {TIMEOUT} s)"
    if done.returncode == 0:
        return ("passed", "") if mutant is None else ("survived", "every test passes")
    told = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "caught", told[0].split(" - ")[0] if told else (done.stdout + done.stderr)[-500:]


def main() -> int:
    """Plant the mutants and print the table."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [mutant for mutant in MUTANTS if word in mutant.name]
    verdict, why = outcome(None)
    if verdict != "passed":
        print(f"without a fault the tests must pass first: {why}")
        return 2
    found = {"caught": 0, "survived": 0, "stale": 0}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for mutant, (verdict, why) in zip(chosen, pool.map(outcome, chosen), strict=True):
            found[verdict] += 1
            print(f"{verdict:9} {mutant.name:50} {why}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in found.items()))
    return 2 if found["stale"] else 1 if found["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
