"""Every example runs as it stands, against any OpenAI-compatible server, and unchanged on the local model."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from agentsdk import FunctionCall, Message, ModelResponse, Usage
from agentsdk.models.local.server import Address, LocalServer, ServerOptions
from agentsdk.models.local.weights import find_weights
from agentsdk.testing import FakeOpenAIServer, ServerReply, call
from agentsdk.testing.scripted import Say
from agentsdk.types.errors import UserError
from tests.dbos_on_sqlite import require_dbos_on_sqlite
from tests.forks import Forks
from tests.local_tools.chromium import chromium
from tests.sandboxes.sandboxes import SANDBOXES, missing

EXAMPLES = Path(__file__).parents[1] / "examples"
_FORKS = Forks()


_UNREAD = (
    "not read: the final output of agent 'Reader' was not accepted by output validator 'stands_there' "
    "after 1 feedback turn(s): The document does not say 120. Take the total that it says.\n"
)

SCRIPTS: dict[str, tuple[Sequence[Say], str]] = {
    "hello.py": (["Paris."], "Paris.\n[1 turn, 15 tokens]\n"),
    "tools.py": (
        [call("get_weather", city="Rome"), "Sunny, 24 degrees."],
        'called get_weather({"city":"Rome"})\n    -> The weather in Rome is sunny, 24 degrees.\nanswer: Sunny, 24 degrees.\n',
    ),
    "streaming.py": (
        [call("next_train", to="Milan"), "At 9:15, platform 4."],
        "[Conductor takes over]\n"
        '[calls next_train({"to":"Milan"})]\n'
        "[is told 'The next train to Milan leaves at 9:15 from platform 4.']\n"
        "At 9:15, platform 4.\n[2 turns, 10 tokens written]\n",
    ),
    "effects.py": (
        [call("charge", euros=30), call("charge", euros=30), call("charge", euros=30)],
        "none: begun 2 times, under the same key: 30 euros are charged.\n"
        "idempotent: begun 2 times, under the same key: 30 euros are charged.\n"
        "once: charge is in doubt; a person looks, and says that it was done\n"
        "once: begun 1 time, under the same key: 30 euros are charged.\n",
    ),
    "dbos_run.py": (
        [call("send_invoice", number=7)],
        'send_invoice({"number":7}) waits for approval\nanswer: Invoice 7 is sent.\n',
    ),
    "temporal_run.py": ([call("pay", name="Ada", amount=3)], "waits:  pay\nanswer: Ada was paid 3.\n"),
    "custom_tool.py": (
        [call("calculate", input="17 + 30 - 4")],
        'called: calculate {"input":"17 + 30 - 4"}\nanswer: 17 + 30 - 4 = 43\n',
    ),
    "toolsets.py": (
        [call("shop_show_order", number=1815), call("shop_show_order", number=7)],
        "ada is offered show_order\nada is offered cancel_order\nanswer: Order 1815: two chairs.\n"
        "bob is offered show_order\nbob is not offered cancel_order\nanswer: Order 7: two chairs.\n",
    ),
    "tool_selection.py": (
        [call("oslo_weather")],
        "200 tools\noffered: search_tools, oslo_weather, rome_weather, lima_weather\n"
        "answer: The weather in Oslo is fine today.\n",
    ),
    "skills.py": (
        [call("load_skill", name="release-notes"), "Exports keep their time zone."],
        "skills: csv-report, meeting-minutes, release-notes\nread: # Skill release-notes\n"
        "answer: Exports keep their time zone.\n",
    ),
    "wrapping.py": (
        [call("show_order", number=1815)],
        "sent:  I am [address]. What is in order 1815?\nran:   show_order\n"
        "answer: Order 1815: two chairs, paid by card ************1111.\n",
    ),
    "models.py": (
        ['{"city": "Rome"}', call("count_people", city="Rome"), "2.8 million.", "2.8 million."],
        "about:  Rome\n"
        "turn 1: quick\nturn 2: careful\nanswer: 2.8 million. [2 sent, 0 from the cache]\n"
        "turn 1: quick\nturn 2: careful\nanswer: 2.8 million. [1 sent, 1 from the cache]\n",
    ),
    "tracing.py": (
        [call("count_people", city="Rome")],
        "invoke_agent Guide\n  agent Guide\n    turn 1\n      chat some-model [5 tokens]\n      execute_tool count_people\n",
    ),
    "metrics.py": (
        [call("count_people", city="Rome")],
        "gen_ai.client.token.usage input: 10 {token}\ngen_ai.client.token.usage output: 5 {token}\n"
        "agentsdk.tool.calls finished: 1 {call}\n",
    ),
    "progress.py": (
        [call("measure", city="Rome")],
        "[measure: 0 %]\n[measure: 50 %]\n[measure: 100 %]\nIt has 24 degrees in Rome.\n",
    ),
    "mcp_server.py": (
        [call("refund", order=7)],
        "tools:    Clerk get_run\nanswered: input_required\nkilled:   the server, with its question open\n"
        "asked:    Clerk: may refund\nresult:   Order 7 is paid back.\nresult:   Order 7 is paid back.\nstatus:   finished\n",
    ),
    "structured_output.py": (
        ['{"day": "Friday", "city": "Oslo", "people": ["Alice", "Bob"]}'],
        "day:  Friday\ncity: Oslo\nwho:  Alice and Bob\n",
    ),
    "output_function.py": ([call("final_result", kind="child")], "child: 5 euros\n"),
    "research.py": (
        [
            call("search", words="harbour built"),
            call("read", source="harbour.txt"),
            '{"answer": "In 1652.", "citations": [{"source": "harbour.txt", "quote": "It was built in 1652"}], '
            '"not_found": ""}',
            '{"answer": "In 1652.", "citations": [{"source": "harbour.txt", "quote": "was built in 1652"}], '
            '"not_found": "Who built it."}',
        ],
        "sent back: 'harbour.txt' does not say 'It was built in 1652': quote it word for word.\n"
        "answer: In 1652.\n  harbour.txt: 'was built in 1652'\nnot found: Who built it.\n[4 requests, 60 tokens]\n",
    ),
    "vote.py": (
        ['{"response": 391}'] * 3,
        "3 x 391\nanswer: 391\n[3 samples, 0 failed, 45 tokens]\n",
    ),
    "reflection.py": (
        [
            "A chair of solid oak, for life.",
            '{"accepted": false, "feedback": "Name the price."}',
            "A chair of solid oak, for 120 euros.",
            '{"accepted": true, "feedback": ""}',
        ],
        "Critic says: Name the price.\nanswer: A chair of solid oak, for 120 euros.\n4 requests in all\n",
    ),
    "triage.py": (
        [
            call("transfer_to_billing", urgency="low", about="a high bill"),
            call("last_bill"),
            "20 euros are for calls abroad.",
            call("transfer_to_repairs", urgency="at once", about="a phone"),
            call("transfer_to_repairs", urgency="high", about="a phone"),
            "Which phone is it?",
        ],
        "Why is my bill so high?\n  Triage -> Billing (low): a high bill\n  Billing: 20 euros are for calls abroad.\n"
        "My phone does not ring.\n  Triage -> Repairs (high): a phone\n  Repairs: Which phone is it?\n",
    ),
    # One reply for all: the total stands in one of the documents only, and they are asked about in any order.
    "extraction.py": (
        ['{"vendor": "Chairs Ltd.", "total": 120, "currency": "EUR"}'] * 5,
        f"chairs.txt: Chairs Ltd., 120 EUR\nlamps.txt: {_UNREAD}letter.txt: {_UNREAD}"
        "[1 of 3 read: 15 tokens, of unknown price]\n",
    ),
    "rag.py": (
        [
            call("look_up", query="SQLiteSession session_id db_path keeps its items in a SQLite file"),
            "A session, see invented.md.",
            "SQLiteSession keeps them (sessions.md)",
        ],
        "docs: passages searched by text search\nquestion: What keeps a session?\n"
        "answer: SQLiteSession keeps them (sessions.md)\n[files: sessions.md]\n",
    ),
    "tenants.py": (
        [ModelResponse((Message("assistant", "A contract."),), Usage(1, 100, 20), "stop"), "A bill."],
        "acme: finished: A contract.\nacme: failed: CostLimitExceededError\nbolt: finished: A bill.\n"
        "bolt asks for acme's run: the store has no run ID, expected the id of one; RunStore.list gives them\n"
        "acme has spent 0.0032 of 0.01 dollars\nbolt has spent 0.0005 of 1.00 dollars\n",
    ),
    "chat_service.py": (
        ["Rome.", "Madrid.", "Oslo."],
        "ada: What is the capital of Italy?\n  guide: Rome.\nada: And of Spain?\n  guide: Madrid.\n"
        "bob: What is the capital of Norway?\n  guide: Oslo.\n"
        "ada has 4 messages\nbob has 2 messages\neve: HTTP 401\n",
    ),
    "approval_web.py": (
        [call("refund", order=1815)],
        'waits:    refund({"order":1815})\nkilled:   the service, exit code -9\n'
        "approved: by shop, HTTP 403\napproved: by ann, HTTP 202\napproved: by ann, HTTP 409\n"
        "finished: Order 1815 is paid back.\n",
    ),
    "scheduled_job.py": (
        ["Tea sells best."],
        "planned:  twice, and there is 1 run\nkilled:   the first worker, exit code -9; 1 mail is out\n"
        "finished: Tea sells best.\nmails:    1\n",
    ),
    "guardrails.py": (
        ["Madrid.", "Madrid."],
        "stopped: input guardrail 'no_card_numbers' stopped the run of agent 'Clerk'; "
        "to go on, call error.state.replace_input(...) and resume it\n"
        "answer: Madrid.\n"
        "[no_card_numbers: GuardrailFunctionOutput(output_info={'card number': True}, tripwire_triggered=True)]\n"
        "[no_card_numbers: GuardrailFunctionOutput(output_info={'card number': False}, tripwire_triggered=False)]\n"
        "[no_promises: GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)]\n",
    ),
    "approval_resume.py": (
        [call("cancel_order", number=1815)],
        'process A: cancel_order({"number":1815}) waits for approval\n'
        "process A: saved the run, N characters of JSON\n"
        "process B: approved cancel_order\n"
        "process B: Order 1815 is cancelled.\n",
    ),
    "ask_user.py": (
        [call("ask_user", question="Which one?", choices=["red", "blue"])],
        "shop: Which one? (red, blue)\nyou:  red\norder: red\n",
    ),
    "edited_approval.py": (
        [call("refund", order=1815, amount=500), "I could pay back 49."],
        'asked for: {"order":1815,"amount":500}\n'
        "refused:   call 'call_1_1' still waits: the edited arguments do not fit:\n"
        "- amount: expected an integer, got a string of N characters\n"
        "expected what its tool declares; decide again on error.state\n"
        'told:      [A person changed the arguments of this call before it ran, to {"order":1815,"amount":49}]\n'
        "49 dollars of order 1815 are paid back.\n"
        "answer:    I could pay back 49.\n",
    ),
    "external_webhook.py": (
        [call("check_passport", number=4711)],
        'waits:    check_passport({"number":4711})\n'
        "hook:     422 - until: missing, expected a string\nhook:     200 thank you\nhook:     409 it is answered already\n"
        'finished: {"valid":true,"until":"2031-05-01"}\n',
    ),
    "durable_run.py": (
        [call("cancel_order", number=1815)],
        "begin:   the run waits; this process is killed\n"
        "approve: order-1815 may run cancel_order\n"
        "finish:  Order 1815 is cancelled.\n"
        "fork:    at revision 3 cancel_order waits again\n"
        "replay:  run 'order-1815': 1 turns and 2 steps came out as recorded\n"
        "another model parts at revision 1, turn 1, agent 'Clerk': calls cancel_order({\"number\":1815}); "
        "now: another request: other model\n"
        '         and waits for approval of {"number":1816}\n',
    ),
    "drive.py": (
        [call("send_invoice", number=7)],
        "delivered: send_invoice waits for approval\n"
        "delivered: send_invoice waits for approval\n"
        "approved:  send_invoice\n"
        "delivered: Invoice 7 is sent.\n"
        "delivered: Invoice 7 is sent.\n",
    ),
    "worker.py": (
        [call("write_report", number=1), call("write_report", number=2)],
        "submitted: report-1\nsubmitted: report-2\n"
        "killed:    the worker that was at report-1\n"
        "finished:  report-1: Report 1 is written.\n"
        "finished:  report-2: Report 2 is written.\n"
        "stopped:   the worker, exit code 0\n",
    ),
    "watch.py": (
        [call("get_weather", city="Rome"), "It is sunny."],
        "1: RunStarted\n2: RunResumed\n3: ModelReplied\n4: ToolsIntended\n5: ToolFinished\n"
        "   'It'\n   ' is'\n   ' sunny.'\n"
        "6: TurnEnded\n7: ModelReplied\n8: RunEnded\n"
        "answer: It is sunny.\nagain from 7:\n8: RunEnded\n",
    ),
    "research_budget.py": (
        [*(call("search", city=city) for city in ("Rome", "Paris", "Oslo", "Bonn")), "Rome."],
        "found: Rome was founded in 753 BC.\nfound: Paris grew from a Gaulish town.\nfound: Oslo was founded around 1040.\n"
        "found: The call was not run: the run has reached a limit.\n"
        "answer: Rome.\n[5 turns, the last of them without tools]\n",
    ),
    "cost_limit.py": (
        [
            ModelResponse((FunctionCall("call_1", "look_up", '{"city": "Rome"}'),), Usage(1, 60, 20), "tool_calls"),
            "2.8 million.",
        ],
        "paused: the limit on cost is 0.15 dollars\nanswer: 2.8 million.\n",
    ),
    "sessions_chat.py": (
        ["Rome.", "Madrid."],
        "you:   What is the capital of Italy?\nguide: Rome.\nyou:   And of Spain?\nguide: Madrid.\n"
        "[the session holds 4 messages]\n",
    ),
    "sessions_many.py": (
        ["Rome.", "Madrid.", "Lisbon.", "Oslo.", "Paris."],
        "rome: What is the capital of Italy? Rome.\nrome: And of Spain? Madrid.\nrome: And of Portugal? Lisbon.\n"
        "oslo: What is the capital of Norway? Oslo.\nparis: And of France? Paris.\n"
        "ada has 'paris': A trip to Italy, 4 items\nada has 'rome': A trip to Italy, 6 items\n"
        "'rome' has 3 items now, and its 6 originals are kept\n",
    ),
    "agent_as_tool.py": (
        [call("translate", text="Good morning", polite=True), "Bonjour."],
        'Concierge calls translate({"text":"Good morning","polite":true})\n'
        "Translator says 'Bonjour.'\n"
        "answer: Bonjour.\n"
        "[2 requests, 30 tokens, both agents together]\n",
    ),
    "limits.py": (
        [call("book_table", guests=2), "Booked."],
        "[booked for 2]\n"
        "stopped: run of agent 'Host' took 1 turns without a final output, expected at most 1; "
        "resume error.state with a higher max_turns, or handle it with error_handlers={'max_turns': ...}\n"
        "after 2 turns: Booked.\n",
    ),
}
"""For each example what a server says, and what is printed then."""

_FAILED = "- Error while running the tool: ConnectionError: no route to host\n"

SCRIPTED: dict[str, str] = {
    "mcp_client.py": (
        "approved: edit_file\napproved: git_commit\n"
        "called: read_text_file, edit_file, git_add, git_commit, git_log\n"
        "answer: I have corrected the spelling of Mondays, and committed it.\n"
        "commit: Ann: Names of days begin with a capital\n"
    ),
    "coding_agent.py": (
        "shell ['ls; cat shop.py'] (only looks)\n    shop.py\n    test_shop.py\n    def total(prices):\n        return 0\n"
        "shell ['python3 -B test_shop.py 2>&1 | tail -n 1'] \n    FAILED (failures=1)\n"
        "apply_patch shop.py \n"
        "shell ['python3 -B test_shop.py 2>&1 | tail -n 1'] \n    OK\n"
        "total() gave 0 for any prices; now it adds them up, and the test passes.\n"
        "def total(prices):\n    return sum(prices)\n"
    ),
    "browser_agent.py": (
        "does: screenshot\nsees: /\ndoes: click\nsees: /order?beech\n"
        "does: click, type, keypress\nsees: /done?to=Ada%2C+12+Mill+Lane\n"
        "I have ordered the beech chair, the cheapest. Its number is 1815.\n"
    ),
    "data_agent.py": (
        "tea 103 sold, most in March\ncake 54 sold, most in March\n"
        "[wrote output/sales.png, SIZE bytes]\n[input_image]\n"
        "Tea sells best, and March was the best month for both: see the chart.\n"
    ),
    "memory.py": (
        "guest:  A tea, please. Always with oat milk.\nwaiter: With oat milk, gladly.\n"
        "notes:  tea.md: Ada takes oat milk in her tea.\n"
        "guest:  A tea, please.\nwaiter: Tea is coming. I know: 1\tAda takes oat milk in her tea.\n"
    ),
    "nightly_memory.py": (
        "ada: A tea, with oat milk from now on.\nwaiter: Gladly.\n"
        "ben: What cakes are there? I am allergic to nuts.\nwaiter: Gladly.\n\n"
        "ada's memory:\n--- MEMORY.md (before)\n+++ MEMORY.md (after)\n@@ -1 +1 @@\n"
        "-- 2026-05-02: Takes milk in her tea.\n+- 2027-01-15: Takes oat milk in her tea.\n\n"
        "ben's memory:\n--- MEMORY.md (before)\n+++ MEMORY.md (after)\n@@ -0,0 +1 @@\n"
        "+- ! 2027-01-15: Is allergic to nuts.\n\n"
        "4 requests: of eve nothing is new\n\nben: A cake, please.\nwaiter: No nuts, of course.\n"
    ),
    "code_mode.py": (
        'begin:  cancel_contract {"customer":"customer 5"} waits; this process is killed\n'
        "finish: Three invoices are overdue; one contract is ended.\n"
        "        the program printed: the contract with customer 5 is ended\n"
        "        3 of them overdue, 120 euros\n"
        "        the outbox has: reminder of invoice 3, reminder of invoice 4\n"
    ),
    "execution.py": (
        "get_price, attempt 1\nget_price, attempt 2\n"
        "write a.py: one\nwrite b.py: three\nwrite a.py: two\ntest\n"
        "search lamp\nsearch lamps\n"
        "told:\n- A lamp costs 5\n"
        "- The call was not run. Its arguments do not fit the tool:\n- text: missing, expected a string\n"
        "- The call was not run: only files of the project may be written\n"
        f"- passed\n- written\n- written\n- written\n{_FAILED}{_FAILED}"
        "- Error: tool 'search' was not called: its last 2 calls failed, after which it is not tried again for 60 seconds; "
        "go on without it\n"
    ),
    "images.py": (
        "the model sees: words and a picture, a call, words and a picture\n"
        "answer: It is lighter now.\n"
        "saved:  words and a picture, a call, words and a picture, words\n"
    ),
    "long_results.py": (
        "shown: N characters, and [... characters 1500 to 29739 of 30239 are left out: "
        "read_result(result_id='b27f2f69551ff6c1', offset=1500) ...]\n"
        "read:  [characters 12869 to 12929 of 30239]\n"
        "answer: One request failed: 0613 GET /orders 500\n"
    ),
    "permissions.py": (
        "ada is offered: show_order, cancel_order\n"
        '  refused: delete_orders({"customer":"eve"}) takes \'admin\'; granted: customer, clerk\n'
        "ben is offered: show_order\n"
        "  refused: cancel_order({\"number\":7}) takes 'write'; granted: customer\n"
        '  refused: delete_orders({"customer":"eve"}) takes \'admin\'; granted: customer\n'
    ),
    "multi_agent.py": (
        "stopped: the lead's model is away\n"
        "t1 finished: What does the lease say of pets? Pets need consent.\n"
        "t2 finished: What does the lease say of noise? Quiet after ten.\n"
        "answer: Yes, with consent; and barking is noise.\n[6 requests in all]\n"
    ),
    "plan.py": (
        'flowchart TD\n    n1["way<br/>price"]\n    n2["stay<br/>price"]\n    n3["booked<br/>book"]\n    n1 -->|"euros"| n3\n'
        'a person sees: {"steps":[{"id":"rail","do":"price","values":{"of":"train"}},'
        '{"id":"go","do":"book","values":{"way":"train","euros":120}}]}\n'
        "  books the train for 120 euros\n"
        "plan: way failed, stay done, booked not run; the first\n"
        "plan: rail done, go done; Step 'way' (price) failed with LookupError: there is no seat left\n"
        "the hotel: 160 euros; answer: You go by train, for 120 euros.\n"
    ),
    "todo.py": (
        "[>] look up pets | [ ] look up noise | [ ] write to the landlord\n"
        "[x] look up pets | [>] look up noise | [ ] write to the landlord\n"
        "[x] look up pets | [x] look up noise | [>] write to the landlord\n"
        "waits at: write to the landlord\n"
        "[x] look up pets | [x] look up noise | [x] write to the landlord\n"
        "answer: The landlord is asked for consent; a dog must be quiet after ten.\n"
    ),
    "evals.py": (
        "yesterday: 0 of 3 passed, $0.001225 in all, 0 replies asked for\n"
        "brief: 3 of 3 passed, $0.001015 in all, 6 replies asked for\n"
        "generous: 1 of 3 passed, $0.000645 in all, 6 replies asked for\n"
        "generous: Where is order 1815: the replay stopped before a call of refund, which would have an effect that the "
        "recorded run did not have\n"
        "generous: Where is order 1832: the replay stopped before a call of refund, which would have an effect that the "
        "recorded run did not have\n"
        "[9 runs; the whole report: report.json, or print(report)]\n"
    ),
    "refund.py": (
        'o-1 begins\n  fetch o-1\na person is asked about {"question":"Refund although the risk is 8?","about":{"score":8,'
        '"why":"a new customer"}}\n  pay 2100 cents\n  send: Sorry for the dents!\n'
        "o-1 is refunded: id='r-o-1' cents=2100\n"
        "o-2 begins\n  fetch o-2\n  pay 270 cents\n  take back 270 cents\no-2 failed at 'send', undone: pay\n"
    ),
    "document_pipeline.py": (
        "total:   469.50\nunread:  paint.txt (ValueError: paint.txt is empty)\n"
        "summary: Three invoices, of which that for tables is the largest.\n[4 requests, over all documents]\n"
    ),
    "human_review.py": (
        'asked: {"question":"Shall this be published?","about":"The best chair ever."}\n'
        'asked: {"question":"Nobody has answered. Shall it be published?","about":"The best chair ever."}\n'
        'asked: {"question":"Shall this be published?","about":"A chair of oak, for 120 euros."}\n'
        "  published: A chair of solid oak, for 120 euros.\n"
        "final: A chair of solid oak, for 120 euros.\n"
        "\n"
        "flowchart TD\n"
        '    n1(["announce"])\n'
        '    subgraph g1["for _ in range(3)"]\n'
        '        n2("Writer<br/>2 times, up to 0 ms")\n'
        '        subgraph g2["reviewed(...)"]\n'
        '            subgraph g3["try"]\n'
        '                n3[/"Shall this be published?<br/>2 times, up to 7 days<br/>1 failed: TimeoutError"/]\n'
        '                n4(["return"])\n'
        "            end\n"
        '            n5[/"Nobody has answered. Shall it be published?<br/>answered by ann, 0 ms"/]\n'
        '            n6(["return"])\n'
        "        end\n"
        "        n7{\"review.verdict == 'publish'\"}\n"
        '        n8["publish<br/>0 ms"]\n'
        '        n9(["return"])\n'
        "        n10{\"review.verdict == 'drop'\"}\n"
        '        n11(["return None"])\n'
        "    end\n"
        '    n12(["return None"])\n'
        "    n3 --> n4\n"
        '    g3 -.->|"StepFailedError"| n5\n'
        "    n5 --> n6\n"
        "    n2 --> g2\n"
        "    g2 --> n7\n"
        '    n7 -->|"yes"| n8\n'
        "    n8 --> n9\n"
        '    n7 -->|"no"| n10\n'
        '    n10 -->|"yes"| n11\n'
        "    n1 --> g1\n"
        "    g1 --> n12\n"
        "    classDef done fill:#dcfce7,stroke:#16a34a,color:#0f172a\n"
        "    class n1,n2,n4,n5,n6,n7,n8,n9 done\n"
        "    classDef failed fill:#fee2e2,stroke:#dc2626,color:#0f172a\n"
        "    class n3 failed\n"
        "    classDef skipped fill:#f1f5f9,stroke:#cbd5e1,color:#94a3b8,stroke-dasharray:4\n"
        "    class n12 skipped\n"
    ),
    "taint.py": (
        'waits: send_mail({"to":"eve@example.com","text":"Ada, Bob, ..."})\n'
        "why:   the result of 'read_page' (call 'call_1_1'), which the model has read, is untrusted\n"
        "answer: They are open from 9 to 5.\nmails sent: 0\n"
    ),
}
"""For each example whose model follows a script what is printed."""

LOCALLY: dict[str, Sequence[str]] = {
    "hello.py": [r"^\[1 turn, \d+ tokens\]$"],
    "tools.py": [r'^called get_weather\(\{"city": ', r"^    -> The weather in .* is sunny, \d+ degrees\.$", r"^answer: ."],
    "streaming.py": [r"^\[calls next_train\(", r"^\[is told 'The next train to ", r"^\[2 turns, \d+ tokens written\]$"],
    "effects.py": [
        r"^none: begun 2 times, under the same key: ",
        r"^idempotent: begun 2 times, under the same key: ",
        r"^once: charge is in doubt; .*\nonce: begun 1 time, under the same key: 30 euros are charged\.$",
    ],
    "dbos_run.py": [r"^send_invoice\(.*\) waits for approval\nanswer: Invoice -?\d+ is sent\.$"],
    "temporal_run.py": [r"^waits:  pay\nanswer: .+ was paid -?\d+\.$"],
    "tool_selection.py": [r"^200 tools\noffered: search_tools, ", r"^answer: The weather in "],
    "custom_tool.py": [r'^called: calculate \{"input":', r"^answer: ."],
    "toolsets.py": [
        r"^ada is offered cancel_order\nanswer: Order -?\d+: two chairs",
        r"^bob is not offered cancel_order\nanswer: ",
    ],
    "skills.py": [r"^skills: csv-report, meeting-minutes, release-notes\nread: ", r"^answer: ."],
    "wrapping.py": [
        r"^sent:  I am \[address\]\. What is in order 1815\?\nran:   show_order\nanswer: Order .* card \*+1111\.$",
    ],
    "models.py": [r"^about:  .", r"^turn 2: careful\nanswer: .", r" \[1 sent, 1 from the cache\]$"],
    "metrics.py": [r"usage input: \d+ \{token\}\n.* output: \d+ \{token\}\nagentsdk.tool.calls finished: 1 \{call\}$"],
    "tracing.py": [r"^invoke_agent Guide\n  agent Guide\n    turn 1\n      chat .* tokens\]\n      execute_tool count_people$"],
    "progress.py": [r"^\[measure: 0 %\]\n\[measure: 50 %\]\n\[measure: 100 %\]\nIt has 24 degrees in "],
    "output_function.py": [r"^(child: 5|adult: 12) euros$"],
    "research.py": [r"^(answer: .*|no answer that the sources bear out: \w+)$", r"^\[\d+ requests, \d+ tokens\]$"],
    "vote.py": [r"^[1-5] x -?\d+$", r"^answer: -?\d+( \(a tie\))?$", r"^\[[3-5] samples, \d failed, \d+ tokens\]$"],
    "reflection.py": [r"^answer: .", r"^\d+ requests in all$"],
    "mcp_server.py": [
        r"^answered: input_required\nkilled: .*\nasked:    Clerk: may refund\nresult:   Order ",
        r"^status:   finished$",
    ],
    "structured_output.py": [r"^day:  \w+day$", r"^city: ", r"^who:  "],
    "triage.py": [
        r"^Why is my bill so high\?\n  Triage -> (Billing|Repairs) \((low|normal|high)\): .*\n  \1: .",
        r"^My phone does not ring\.\n  Triage -> (Billing|Repairs) ",
    ],
    "extraction.py": [
        r"^chairs\.txt: (Chairs|not read: ).*\nlamps\.txt: ",
        r"^\[\d of 3 read: \d+ tokens, of unknown price\]$",
    ],
    "rag.py": [r"^docs: passages searched by text search\nquestion: What keeps a session\?\nanswer: ", r"^\[files: .*\]$"],
    "tenants.py": [
        r"^acme: finished: .*\nacme: failed: CostLimitExceededError\nbolt: finished: ",
        r"^bolt asks for acme's run: the store has no run",
        r"^acme has spent 0\.00\d+ of 0\.01 dollars$",
    ],
    "chat_service.py": [
        r"^ada: What is .*\n  guide: .*\nada: And of",
        r"^ada has 4 messages\nbob has 2 messages\neve: HTTP 401$",
    ],
    "approval_web.py": [
        r"^waits: .*\nkilled: .* exit code -9\n(approved: by .*\n){3}finished: Order .* is paid back",
    ],
    "scheduled_job.py": [
        r"^planned:  twice, and there is 1 run\nkilled: .* exit code -9; 1 mail is out\nfinished: .*\nmails:    1$",
    ],
    "guardrails.py": [r"^stopped: input guardrail 'no_card_numbers' stopped", r"^answer: .", r"^\[no_promises: "],
    "approval_resume.py": [
        r"^process A: cancel_order\(.* waits for approval\nprocess A: saved .*\n"
        r"process B: approved cancel_order\nprocess B: Order -?\d+ is cancelled\.$"
    ],
    "ask_user.py": [r"^shop: .*\nyou:  (.+)\norder: \1$"],
    "edited_approval.py": [
        r"^asked for: \{.*\nrefused:   call .* still waits: the edited arguments do not fit:$",
        r"^told:      \[A person changed .*\n49 dollars of order -?\d+ are paid back\.$",
    ],
    "external_webhook.py": [
        r"^waits:    check_passport\(.*\nhook:     422 .*\nhook:     200 thank you\nhook:     409 it is answered already$",
        r'^finished: \{"valid":true,"until":"2031-05-01"\}$',
    ],
    "durable_run.py": [
        r"^begin: .*\napprove: .*\nfinish:  Order -?\d+ is cancelled\.\nfork: .* waits again$",
        r"^replay: .* came out as recorded\nanother model parts at revision 1, .*\n +and waits for approval of",
    ],
    "drive.py": [
        r"^delivered: send_invoice waits for approval\ndelivered: send_invoice waits for approval\napproved:  send_invoice\n"
        r"delivered: (Invoice -?\d+ is sent\.)\ndelivered: \1$"
    ],
    "worker.py": [
        r"^killed: +the worker that was at report-1\nfinished: +report-1: Report -?\d+ is written\.\n"
        r"finished: +report-2: Report -?\d+ is written\.\nstopped: +the worker, exit code 0$"
    ],
    "watch.py": [r"^1: RunStarted\n", r"^answer: .", r"^again from (\d+):\n\d+: RunEnded$"],
    "research_budget.py": [r"^found: The call was not run", r"^answer: .", r"^\[\d turns, the last of them without tools\]$"],
    "cost_limit.py": [r"^paused: the limit on cost is 0\.15 dollars\nanswer: ."],
    "sessions_chat.py": [r"^guide: .", r"^\[the session holds 4 messages\]$"],
    "sessions_many.py": [
        r"^ada has 'paris': A trip to Italy, 4 items$",
        r"^'rome' has 3 items now, and its 6 originals are kept$",
    ],
    "agent_as_tool.py": [r"^Concierge calls translate\(", r"^Translator says ", r"^answer: .", r"^\[[2-9] requests, "],
    "limits.py": [r"^\[booked for -?\d+\]\nstopped: run of agent 'Host' took 1 turns", r"^after 2 turns: ."],
    "demo.py": [r"calls +get_weather ", r"approve +delete_file ", r"output +\S", r"^Done: 3 runs, \d+ turns, \d+ tokens, "],
}
"""For each example what must happen whatever the local model writes."""

SAMPLED = ("hello.py", "structured_output.py", "triage.py", "guardrails.py", "durable_run.py", "demo.py")
"""Of each kind one: text, schemas, handoffs, guardrails, several processes; the demo streams, calls tools and resumes after an
approval. `make examples` runs them all on the local model."""

ON_THE_LOCAL_MODEL = LOCALLY if os.environ.get("AGENTSDK_EXAMPLES") == "all" else SAMPLED


@pytest.fixture(scope="module", autouse=True)
def _forks_end() -> Iterator[None]:
    yield
    _FORKS.close()


def test_no_example_is_forgotten() -> None:
    here = {path.name for path in EXAMPLES.glob("*.py")}
    here -= {"service.py", "hosted_tools.py", "test_triage.py", *SCRIPTED}  # test_service.py, and below
    assert here == LOCALLY.keys() == SCRIPTS.keys() | {"demo.py"}  # the demo is all about the local model


def test_the_page_of_examples_has_each() -> None:
    script = EXAMPLES.parent / "scripts" / "examples_page.py"
    printed = subprocess.run([sys.executable, script], capture_output=True, text=True, encoding="utf-8", timeout=60, check=True)
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    assert page == printed.stdout, "write it anew: python scripts/examples_page.py > docs/examples.md"


def test_each_row_of_the_table_of_what_tools_can_do_has_an_example_that_runs_here() -> None:
    page = (EXAMPLES.parent / "docs" / "tools.md").read_text(encoding="utf-8")
    table = page.partition("## What tools can do")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 15
    for row in rows:
        named = re.findall(r"\]\(\.\./examples/([\w.]+)\)", row)
        assert named and {*named} <= {*SCRIPTS, *SCRIPTED, "hosted_tools.py"}, row


def test_each_job_has_one_example_that_runs_here() -> None:
    page = (EXAMPLES.parent / "docs" / "jobs.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    names = [re.findall(r"\]\(\.\./examples/([\w.]+)\)", row[1])[0] for row in rows]
    assert len(names) == len({*names}) == 12 and {*names} <= {*SCRIPTS, *SCRIPTED}
    for name in names:
        lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
        assert 40 <= len(lines) <= 125 and lines[2].startswith("    pip install "), name


def test_the_tests_beside_triage() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_triage.py"]
    done = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout + done.stderr


def test_rag_by_meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tea.md").write_text("# Tea\n\nGreen tea is from China.\n\n# Cake\n\nCake is from the oven.\n")
    monkeypatch.setenv("EMBEDDER", "some-embedder")

    def vectors(*given: list[float]) -> ServerReply:
        return ServerReply(body={"data": [{"index": index, "embedding": vector} for index, vector in enumerate(given)]})

    async def main() -> None:
        says = [call("look_up", query="a drink"), vectors([1, 0], [0, 1]), vectors([0.9, 0.1]), "Green tea."]
        async with FakeOpenAIServer(says) as server:
            printed = await run("rag.py", tmp_path, Address(server.url, "a key"), str(tmp_path), "Where is tea from?")
            assert printed.endswith("searched by vectors\nquestion: Where is tea from?\nanswer: Green tea.\n[files: tea.md]\n")
            read = server.requests[3].json["messages"][-1]["content"]
            assert read.index("Green tea is from China") < read.index("Cake is from the oven")

    asyncio.run(main())


def test_hosted_tools(tmp_path: Path) -> None:
    """Its server is its own."""
    assert asyncio.run(run("hosted_tools.py", tmp_path)) == (
        'asks:   open_ticket({"title":"asyncio"})\n'
        "web_search: {'query': 'asyncio'} ['https://docs.python.org/3/']\n"
        "mcp: Ticket 7 []\n"
        "answer: Opened ticket 7. ['Python']\n"
    )


@pytest.mark.parametrize("name", SCRIPTED)
def test_with_a_script_of_its_own(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "browser_agent.py":
        if not chromium():
            pytest.skip("needs playwright and a Chromium: make .venv/.chromium")
        monkeypatch.setenv("AGENTSDK_CHROMIUM", chromium())
    if name == "coding_agent.py" and all(reasons := [missing(one) for one in SANDBOXES]):
        pytest.skip("; ".join(reasons))
    if name == "data_agent.py" and (reason := missing("bubblewrap")):  # in the other one matplotlib may be out of reach
        pytest.skip(reason)
    printed = asyncio.run(run(name, tmp_path))
    if printed.startswith("This example cannot run here: "):
        pytest.skip(printed)
    assert re.sub(r"png, \d+ bytes", "png, SIZE bytes", printed) == SCRIPTED[name]


@pytest.mark.parametrize("name", SCRIPTS)
def test_against_a_server(name: str, tmp_path: Path) -> None:
    if name == "dbos_run.py":
        require_dbos_on_sqlite()
    says, prints = SCRIPTS[name]

    async def main() -> None:
        async with FakeOpenAIServer(says) as server:
            address = Address(server.url, "a key")
            assert await run(name, tmp_path, address) == prints
            for request in server.requests:
                assert request.json["model"] == "some-model"
                assert request.headers["authorization"] == "Bearer a key"
            # In guardrails.py the first request may be stopped before it is sent.
            assert len(server.requests) == len(says) or name == "guardrails.py"

    asyncio.run(main())


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_THE_LOCAL_MODEL)
def test_on_the_local_model(name: str, tmp_path: Path) -> None:
    local_weights()
    printed = asyncio.run(run(name, tmp_path))
    for expected in LOCALLY[name]:
        assert re.search(expected, printed, re.MULTILINE), printed


@pytest.mark.slow
@pytest.mark.skipif(ON_THE_LOCAL_MODEL is SAMPLED, reason="takes long; make examples has it")
def test_mcp_servers_on_the_local_model(tmp_path: Path) -> None:
    local_weights()
    printed = asyncio.run(run("mcp_client.py", tmp_path, None, "--local"))
    if printed.startswith("This example cannot run here: "):
        pytest.skip(printed)
    assert re.search(r"^called: git_status\nanswer: (.|\n)*^called: read_text_file\nanswer: ", printed, re.MULTILINE), printed


@pytest.fixture(scope="module")
def llama() -> Iterator[Address]:
    """llama.cpp's own server, as anybody might run it: it knows nothing of this package."""
    server = LocalServer(ServerOptions(local_weights(), context=4096, parallel=2, threads=1))
    try:
        yield server.start(120, print)
    finally:
        server.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hello.py", r"^\[1 turn, \d+ tokens\]$"),
        ("structured_output.py", r"^day:  \w+day$"),
        ("tools.py", r"^answer: ."),  # the template of this model knows no tools, so it only talks
    ],
)
def test_against_llama_cpp(name: str, expected: str, llama: Address, tmp_path: Path) -> None:
    printed = asyncio.run(run(name, tmp_path, llama))
    assert re.search(expected, printed, re.MULTILINE), printed


def local_weights() -> str:
    """The path of the local model's weights, or a skip."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("needs llama.cpp: pip install 'agentsdk[local]'")
    try:
        return str(find_weights("smollm2"))
    except UserError as missing:
        pytest.skip(str(missing))


_ABORTED_AT_EXIT = "Fatal Python error: PyGILState_Release"
"""What Temporal's package may say when the interpreter ends, after the program: https://github.com/temporalio/sdk-python/issues/300"""


async def run(name: str, folder: Path, server: Address | None = None, *arguments: str) -> str:
    """What the example prints, process ids and sizes replaced. It must end well, and have nothing to say on stderr."""
    code, out, err = await asyncio.to_thread(_FORKS.run, EXAMPLES / name, folder, arguments, _pointing_at(server))
    if name == "temporal_run.py" and code == -signal.SIGABRT and err.startswith(_ABORTED_AT_EXIT):
        code, err = 0, ""
    assert (code, err) == (0, ""), out
    printed = re.sub(r"\b\d+ characters", "N characters", re.sub(r"run '[0-9a-f]{32}'", "run ID", out))
    ids = list(dict.fromkeys(re.findall(r"^process (\d+):", printed, re.MULTILINE)))
    return re.sub(r"^process (\d+):", lambda found: f"process {'AB'[ids.index(found[1])]}:", printed, flags=re.MULTILINE)


def _pointing_at(server: Address | None) -> dict[str, str]:
    if server is None:
        return {}
    return {"OPENAI_BASE_URL": f"{server.base_url}/v1", "OPENAI_API_KEY": server.key, "AGENTSDK_MODEL": "some-model"}
