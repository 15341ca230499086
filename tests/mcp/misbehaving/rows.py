"""The rows: misbehaving servers, and what must come of runs with them. One table, so one module, however long."""

from __future__ import annotations

import importlib

from tests.mcp.misbehaving.play import HTTP, SECRET, STDIO, Row, Seen
from tests.mcp.misbehaving.servers import base, http_front
from tests.mcp.misbehaving.servers.base import HANDSHAKE, MODERN

GROUPS = ("wire", "silence", "death", "listing", "names", "schemas", "results", "environment", "asking", "http", "lifecycle")

for _group in GROUPS:
    importlib.import_module(f"tests.mcp.misbehaving.servers.{_group}")

BOTH = ((STDIO, HANDSHAKE), (STDIO, MODERN))
EITHER = ((STDIO, HANDSHAKE), (HTTP, MODERN))
"""For what does not hang on how it is said: each era, each transport, one row each."""
OVER_HTTP = ((HTTP, HANDSHAKE), (HTTP, MODERN))

ANY = "ok|told"


def _ids_of_others(seen: Seen) -> None:
    for script in seen.scripts:
        assert "another" not in "".join(script.outputs), "the answer of another request was taken"


def _late(seen: Seen) -> None:
    assert "first" not in seen.scripts[1].outputs[0], "the late answer of the first call was taken for the second's"


def _few_lists(seen: Seen) -> None:
    lists = len(seen.lines("tools/list"))
    assert lists <= 12, f"{lists} lists were asked for"


def _some_pages(seen: Seen) -> None:
    pages = len(seen.lines("tools/list"))
    assert pages <= 2_500, f"{pages} pages were asked for"


def _capped(limit: int) -> object:
    def check(seen: Seen) -> None:
        for script in seen.scripts:
            longest = max(len(one.description) for turn in script.offered for one in turn)
            assert longest <= limit, f"a description of {longest} characters reached the model"
            longest = max(map(len, script.instructions))
            assert longest <= limit, f"instructions of {longest} characters reached the model"

    return check


def _short_results(seen: Seen) -> None:
    for script in seen.scripts:
        longest = max(map(len, script.outputs))
        assert longest <= 1_000_000, f"a result of {longest} characters reached the model"


def _says(*words: str) -> object:
    def check(seen: Seen) -> None:
        for script in seen.scripts:
            for word in words:
                assert word in script.outputs[0], f"the model was not told {word!r}: {script.outputs[0][:300]!r}"

    return check


def _each_pong(seen: Seen) -> None:
    for script in seen.scripts:
        for place, output in enumerate(script.outputs[:-1]):
            assert f"pong {place}" in output or not output, f"tool {place} was not the one that was called: {output[:80]!r}"


def _no_leak(seen: Seen) -> None:
    names = {line.partition("=")[0] for line in seen.lines("env")}
    assert "GIVEN" in names and "PATH" in names, f"the server has only {sorted(names)}"
    assert SECRET not in " ".join(seen.journal), "the secret of the parent's environment is in the server's"
    files = [line for line in seen.lines("fd") if int(line.split()[0]) > 3]
    assert not files, f"the server has inherited {files}"


def _nothing_elsewhere(seen: Seen) -> None:
    assert not seen.lines("elsewhere"), "the redirect was followed to another origin"


def _no_secret(seen: Seen) -> None:
    for script in seen.scripts:
        assert SECRET not in " ".join([*script.instructions, *script.outputs, script.error]), "the model was told the secret"


def _gets_headers(seen: Seen) -> None:
    asked = [line for line in seen.lines("http") if line.startswith("POST")]
    assert asked and all(SECRET in line for line in asked), "the headers did not reach the server"


def _quoted(seen: Seen) -> None:
    shown = [
        line for script in seen.scripts for turn in script.offered for one in turn for line in one.description.splitlines()
    ]
    assert "# System" not in shown, "the server's words have a line of their own in what the model is told"


def _opened_twice(seen: Seen) -> None:
    assert len(seen.lines("initialize")) == 2, "a session was used whose handshake the server does not know as done"


def _asked_twice(seen: Seen) -> None:
    assert seen.scripts[0].asked == 2, f"a person was asked {seen.scripts[0].asked} times, expected again for the changed tool"


def _old_answers(seen: Seen) -> None:
    assert "version 2" in seen.scripts[1].outputs[0]


WIRE = [
    *[
        Row(f"wire/{name}")
        for name in (
            "banner",
            "prints_before_each_answer",
            "half_a_message_first",
            "json_that_is_no_message",
            "bad_utf8_first",
            "bad_utf8_line",
            "bad_utf8_in_a_text",
            "utf8_in_pieces",
            "line_of_8_mb",
            "crlf",
            "blank_lines",
            "byte_order_mark",
            "two_messages_in_a_write",
            "answers_twice",
            "error_without_id",
            "unknown_notification",
            "flood_of_notifications",
            "lone_surrogate",
            "control_characters",
            "stderr_of_10_mb",
            "writes_at_the_end",
        )
    ],
    Row("wire/answer_is_no_json", ("told", "ok")),
    Row("wire/line_of_70_mb", ("told", "ok"), over=((STDIO, HANDSHAKE),), calls=2, check=_short_results),
    Row("wire/line_without_end", ("told", "ok"), over=((STDIO, MODERN),), calls=2),
    Row("wire/other_id_first", check=_ids_of_others),
    Row("wire/other_id_only", ("told", "ok"), check=_ids_of_others),
    Row("wire/id_of_an_earlier_request", check=_ids_of_others),
    Row("wire/id_is_a_text", (ANY, ANY)),
    Row("wire/unknown_request", over=((STDIO, HANDSHAKE),)),
    Row("wire/flood_of_list_changed", check=_few_lists),
    *[
        Row(f"wire/version_{name}", ("absent", "absent"))
        for name in ("unknown", "is_a_number", "is_null", "of_the_future_only")
    ],
    Row("wire/batch", (ANY, ANY)),
    Row("wire/without_jsonrpc", (ANY, ANY)),
    Row("wire/deeply_nested", ("told", "ok")),
    Row("wire/not_a_number", (ANY, ANY)),
    Row("wire/number_of_5000_digits", (ANY, ANY)),
    Row("wire/result_and_error", (ANY, ANY)),
    *[Row(f"wire/error_{name}", ("told", "told")) for name in ("is_empty", "is_a_text", "code_is_a_text")],
    Row("wire/error", ("told", "told"), check=_says("boom")),
    *[
        Row(f"wire/error_with_the_code_of_{what}", ("told", "told"), over=EITHER, check=_says("refused", "boom"))
        for what in ("an_end", "a_timeout")
    ],
    Row("wire/error_of_1_mb", ("told", "told"), check=_short_results),
]

SILENCE = [
    Row("silence/opening", ("absent", "absent")),
    Row("silence/first_opening", ("absent", "ok")),
    Row("silence/discover", ("ok", "ok"), over=((STDIO, HANDSHAKE),)),
    Row("silence/list", ("absent", "absent")),
    Row("silence/first_list", ("absent|ok", "ok")),
    Row("silence/call", ("told", "told"), calls=2),
    Row("silence/first_call", ("told", "ok"), calls=2),
    Row("silence/after_a_call", ("ok", "told|absent|ok", "ok")),
    Row("silence/late_answer", ("told", "ok", "ok"), check=_late),
    Row("silence/progress_only", ("told", "told")),
    Row("silence/deaf", ("told", "ok"), arguments={"value": "x" * 300_000}, target={"timeout": 1.0}),
]

DEATH = [
    Row("death/at_start", ("absent", "absent")),
    Row("death/at_first_start", ("absent|ok", "ok")),
    Row("death/opening", ("absent", "absent")),
    Row("death/list", ("absent", "absent")),
    Row("death/first_list", ("absent|ok", "ok")),
    Row("death/call", ("told", "told"), calls=2),
    Row("death/first_call", ("told", "ok"), calls=2),
    Row("death/first_call_of_a_reader", ("ok", "ok"), calls=3, target={"trusted": True}),
    Row("death/after_each_call", ("ok", "ok", "ok"), calls=3),
    Row("death/with_a_call_unread", ("ok", "told", "ok"), over=((STDIO, HANDSHAKE),), calls=2),
    Row("death/after_list", (ANY, "ok")),
    Row("death/second_call", ("ok", "told", "ok"), calls=3),
    Row("death/in_an_answer", ("told", "ok"), calls=2),
    Row("death/answer_without_newline", (ANY, "ok"), calls=2),
    Row("death/comes_back_at_the_third_start", ("told", "absent|told|ok", "ok")),
    Row("death/closes_its_output", ("told", "ok"), calls=2),
    Row("death/closes_its_input", ("told|ok", "ok")),
    Row("death/with_a_child_on_its_output", ("told", "ok"), calls=2),
    Row("death/changed_when_it_came_back", ("told", "ok"), check=_old_answers),
]

LISTING = [
    *[
        Row(f"listing/{name}", over=EITHER)
        for name in (
            "one_without_a_name",
            "one_with_a_number_as_name",
            "one_with_a_text_as_schema",
            "one_is_null",
            "one_is_a_text",
            "one_with_a_list_as_description",
            "one_with_wrong_annotations",
            "one_with_a_wrong_output_schema",
            "without_description",
            "with_unknown_fields",
            "two_of_one_name",
            "twice_the_same",
            "cursor_is_empty",
            "cursor_is_null",
            "of_50_pages",
            "other_tools_each_time",
            "other_description_each_time",
            "of_5000",
        )
    ],
    Row("listing/description_of_1_mb", over=EITHER, check=_capped(100_000)),
    Row("listing/empty", ("absent", "absent"), over=EITHER, quiet=True),
    Row("listing/no_tools_capability", ("absent", "absent"), over=EITHER, quiet=True),
    Row("listing/wrong_capabilities", ("absent|ok", "absent|ok"), over=EITHER),
    *[
        Row(f"listing/{name}", ("absent", "absent"), over=EITHER)
        for name in ("is_null", "is_a_list", "is_empty", "tools_are_null", "tools_are_a_map", "fails")
    ],
    Row("listing/cursor_is_a_number", ("ok|absent", "ok|absent"), over=EITHER),
    Row("listing/same_cursor_for_ever", ("ok|absent", "ok|absent"), over=EITHER, check=_few_lists),
    Row("listing/empty_pages_for_ever", ("absent", "absent"), over=EITHER, check=_few_lists, quiet=True),
    Row("listing/pages_without_end", ("ok|absent", "ok|absent"), over=((STDIO, MODERN),), check=_some_pages),
    Row("listing/fails_once", ("absent|ok", "ok"), over=EITHER),
    Row("listing/second_page_fails", ("ok|absent", "ok|absent"), over=EITHER),
    Row("listing/tools_vanish", ("ok", "absent|told"), over=((STDIO, HANDSHAKE),), quiet=True),
    Row("listing/vanished_in_silence", ("ok", "told"), over=EITHER),
    Row("listing/changes_when_listed", over=((STDIO, HANDSHAKE),), check=_few_lists),
    Row("listing/changes_under_an_approval", ("ok",), over=((STDIO, HANDSHAKE),), target={"approval": True}),
]

NAMES = [
    Row(f"names/{name}", over=EITHER, wanted=tuple([f"tool {place}" for place in range(count)]), runs=("ok",), check=_each_pong)
    for name, count in (
        ("of_100_characters", 1),
        ("two_that_differ_after_64", 2),
        ("dots", 1),
        ("slashes", 3),
        ("spaces_and_newlines", 2),
        ("emoji", 2),
        ("other_scripts", 2),
        ("clash_when_mapped", 4),
        ("differ_by_case", 3),
        ("of_a_provider", 5),
        ("of_python", 4),
        ("begins_with_a_digit", 3),
        ("of_braces", 3),
        ("nul", 1),
    )
] + [
    Row("names/empty", ("ok",), over=EITHER, wanted=("tool 1",), check=None),
    Row("names/of_100_000_characters", ("ok|absent",), over=EITHER, wanted=("tool 0",)),
    Row("names/lone_surrogate", ("ok|absent|told",), over=EITHER, wanted=("tool 0",)),
]

SCHEMAS = (
    [
        Row(f"schemas/{name}", ("ok",), over=EITHER, arguments={"value": 7})
        for name in (
            "refs",
            "one_of",
            "one_of_at_the_top",
            "recursive",
            "draft_07",
            "draft_unknown",
            "types",
            "empty",
            "required_unknown",
            "odd_properties",
            "closed",
            "default_and_format",
            "enum_of_10_000",
        )
    ]
    + [
        Row(f"schemas/{name}", ("ok|told|absent",), over=EITHER, arguments={"value": 7}, quiet=True)
        for name in (
            "ref_into_nothing",
            "ref_to_itself",
            "ref_of_a_file",
            "ref_of_a_url",
            "type_array",
            "type_wrong",
            "properties_wrong",
            "true",
            "null",
            "missing",
            "of_1_mb",
            "pattern_wrong",
        )
    ]
    + [
        Row(
            "schemas/pattern_that_backtracks", ("ok|told|absent",), over=EITHER, arguments={"value": "a" * 40 + "!"}, quiet=True
        ),
        Row("schemas/of_300_levels", ("ok|told|absent",), over=EITHER, arguments={"value": {"value": {}}}, quiet=True),
    ]
)

RESULTS = [
    Row("results/is_error", ("told", "told"), over=EITHER, check=_says("the disk is full")),
    Row("results/is_error_without_text", ("told", "told"), over=EITHER),
    Row("results/structured_only", over=EITHER),
    Row("results/structured_that_fits", over=EITHER, check=_says("pong")),
    Row("results/structured_misfits", ("told", "told"), over=EITHER),
    Row("results/empty", ("told",), over=EITHER),
    Row("results/of_2_mb", over=EITHER, check=_short_results),
    Row("results/of_50_mb", (ANY,), over=EITHER, check=_short_results),
    Row("results/an_order_to_the_model", over=EITHER),
    *[
        Row(f"results/{name}", over=EITHER)
        for name in (
            "image",
            "image_that_is_none",
            "audio",
            "resource_link",
            "resource_text",
            "resource_blob",
            "of_10_000_items",
            "image_of_5_mb",
        )
    ],
    *[
        Row(f"results/{name}", (ANY, ANY), over=EITHER)
        for name in (
            "is_error_is_a_text",
            "structured_missing",
            "structured_is_a_list",
            "output_schema_wrong",
            "output_schema_with_a_url",
            "structured_for_a_slow_pattern",
            "without_content",
            "null",
            "a_list",
            "a_text",
            "content_is_null",
            "content_is_a_text",
            "content_is_a_map",
            "text_is_a_number",
            "of_a_type_unknown",
            "wrong_meta",
            "a_task",
            "image_of_bad_base64",
            "image_of_an_odd_type",
            "image_without_type",
            "audio_of_bad_base64",
            "resource_link_with_an_odd_uri",
            "resource_of_bad_base64",
            "resource_of_nothing",
            "of_an_unknown_kind",
            "without_a_kind",
            "null_item",
        )
    ],
]

ENVIRONMENT = [
    Row("environment/tells", ("ok",), check=_no_leak, target={"env": {"GIVEN": "yes"}}),
    Row("environment/instructions_of_1_mb", over=EITHER, check=_capped(100_000)),
    Row("environment/order_in_a_description", over=EITHER, check=_quoted),
]

ASKING = [
    Row(f"asking/{name}", (ANY, ANY), rounds=11)
    for name in (
        "a_person",
        "for_sampling",
        "for_roots",
        "for_an_answer_to_a_ping",
        "in_a_wrong_form",
        "without_params",
        "for_a_page",
        "nobody",
        "for_ever",
    )
]

_ALWAYS = ("absent", "absent")
_SECRET = {"headers": {"authorization": f"Bearer {SECRET}"}}
ONCE = ("told", "ok")

HTTP_ROWS = [
    Row("http/healthy", over=OVER_HTTP, target=_SECRET, check=_gets_headers),
    *[
        Row(f"http/{name}", _ALWAYS, over=OVER_HTTP)
        for name in ("400", "401", "403", "404", "429", "500", "503", "401_with_a_challenge")
    ],
    *[
        Row(f"http/{name}", ("told", "told"), over=OVER_HTTP)
        for name in (
            "400_to_calls",
            "401_to_calls",
            "403_to_calls",
            "429_to_calls",
            "500_to_calls",
            "503_to_calls",
            "502_of_a_page",
            "200_of_a_page",
            "200_without_body",
            "200_of_no_json",
            "200_of_bad_utf8",
        )
    ],
    *[Row(f"http/{name}", ("told", "told"), over=OVER_HTTP) for name in ("202_to_a_call", "204_to_a_call")],
    Row("http/404_to_calls", ("told", "told"), over=OVER_HTTP),
    Row("http/500_to_a_call", ONCE, over=OVER_HTTP),
    Row("http/500_to_a_list", ("absent|ok", "ok"), over=OVER_HTTP),
    Row("http/redirect_307", _ALWAYS, over=OVER_HTTP, target=_SECRET, check=_nothing_elsewhere),
    Row("http/redirect_302", _ALWAYS, over=OVER_HTTP, target=_SECRET, check=_nothing_elsewhere),
    Row("http/redirect_308_of_a_call", ("told", "told"), over=OVER_HTTP, target=_SECRET, check=_nothing_elsewhere),
    *[
        Row(f"http/session_forgotten{how}", (ANY, "ok"), over=((HTTP, HANDSHAKE),))
        for how in ("", "_with_400", "_in_words", "_in_words_with_400", "_with_400_to_the_request")
    ],
    Row("http/end_of_the_handshake_cut", ("absent|ok", "ok"), over=((HTTP, HANDSHAKE),), check=_opened_twice),
    Row("http/no_answer", ONCE, over=OVER_HTTP, calls=2),
    Row("http/no_answer_at_all", _ALWAYS, over=OVER_HTTP),
    Row("http/closes_after_each_answer", over=OVER_HTTP),
    Row("http/stream_without_answer", ONCE, over=OVER_HTTP, calls=2),
    Row("http/slow_headers", ONCE, over=OVER_HTTP, calls=2),
    *[
        Row(f"http/{name}", ONCE, over=OVER_HTTP, calls=2)
        for name in (
            "reset",
            "not_http",
            "cut_body",
            "cut_chunks",
            "stream_cut",
            "stream_ends_without_answer",
            "stream_cut_after_an_id",
            "stream_of_no_json",
            "event_without_end",
            "body_of_100_mb",
            "body_without_end",
            "gzip_of_200_mb",
        )
    ],
    Row("http/stream_goes_on", over=OVER_HTTP),
    Row("http/stream_of_garbage", over=OVER_HTTP),
    Row("http/event_of_3_mb", over=OVER_HTTP),
    Row("http/other_id", ONCE, over=OVER_HTTP),
    Row("http/get_500", over=((HTTP, HANDSHAKE),)),
    Row("http/get_is_silent", over=((HTTP, HANDSHAKE),)),
    Row("http/get_ends_at_once", over=((HTTP, HANDSHAKE),)),
    Row("http/delete_is_silent", over=((HTTP, HANDSHAKE),)),
    Row("http/session_of_odd_characters", ("ok|absent", "ok|absent"), over=((HTTP, HANDSHAKE),)),
    Row("http/says_the_url", _ALWAYS, over=OVER_HTTP, target={"path": f"?key={SECRET}"}, check=_no_secret),
]

LIFECYCLE = [
    Row("lifecycle/stubborn"),
    Row("lifecycle/leaves_a_grandchild"),
    Row("lifecycle/leaves_a_daemon"),
    Row("lifecycle/dies_and_leaves_a_grandchild", ("told", "ok")),
]

ROWS = [*WIRE, *SILENCE, *DEATH, *LISTING, *NAMES, *SCHEMAS, *RESULTS, *ENVIRONMENT, *ASKING, *HTTP_ROWS, *LIFECYCLE]


def unnamed() -> set[str]:
    """Servers that no row names."""
    known = {row.case for row in ROWS}
    return {name for name in (*base.CASES, *http_front.HTTP_CASES) if "/" in name} - known
