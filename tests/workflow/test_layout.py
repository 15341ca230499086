"""Drawings are laid out so that nothing covers anything else, whatever leads to what."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from agentsdk.workflow.layout import Link, Size, lay_out

SIZES = st.tuples(st.integers(10, 300), st.integers(10, 90)).map(lambda size: (float(size[0]), float(size[1])))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, Size], list[Link]]:
    """Some boxes and links between any of them; some have something beside them."""
    sizes = {str(number): draw(SIZES) for number in range(draw(st.integers(1, 12)))}
    ends = st.sampled_from(sorted(sizes))
    texts = st.sampled_from([(0.0, 0.0), (60.0, 16.0)])
    links = [Link(draw(ends), draw(ends), draw(texts)) for _ in range(draw(st.integers(0, 20)))]
    for box in draw(st.sets(ends, max_size=3)):
        sizes[f"undo {box}"] = draw(SIZES)
        links.append(Link(box, f"undo {box}", beside=True))
    return sizes, links


@given(graphs())
def test_no_box_covers_another_or_a_text(graph: tuple[dict[str, Size], list[Link]]) -> None:
    sizes, links = graph
    layout = lay_out(sizes, links)
    boxes = [(*layout.places[box], *size) for box, size in sizes.items()]
    for link, text in zip(links, layout.texts, strict=True):
        if text is not None:
            (x, y), (width, height) = text, link.text
            boxes.append((x - width / 2, y - height / 2, width, height))
    for x, y, width, height in boxes:
        assert -0.01 <= x <= x + width <= layout.size[0] + 0.01
        assert -0.01 <= y <= y + height <= layout.size[1] + 0.01
    for (x, y, width, height), (left, top, wide, tall) in combinations(boxes, 2):
        assert x + width <= left + 0.01 or left + wide <= x + 0.01 or y + height <= top + 0.01 or top + tall <= y + 0.01


@given(graphs())
def test_each_link_leads_from_its_source_to_its_target(graph: tuple[dict[str, Size], list[Link]]) -> None:
    sizes, links = graph
    layout = lay_out(sizes, links)
    assert layout == lay_out(sizes, links)  # there is no chance in it
    for link, route in zip(links, layout.routes, strict=True):
        if link.source == link.target:
            assert route == []
            continue
        for (x, y), box in ((route[0], link.source), (route[-1], link.target)):
            (left, top), (width, height) = layout.places[box], sizes[box]
            assert left - 0.01 <= x <= left + width + 0.01 and top - 0.01 <= y <= top + height + 0.01


def test_what_is_led_to_stands_below_and_a_way_back_goes_up() -> None:
    sizes = dict.fromkeys("abcd", (40.0, 20.0))
    layout = lay_out(sizes, [Link("a", "b"), Link("b", "c"), Link("a", "c"), Link("c", "a"), Link("d", "c")])
    heights = [layout.places[box][1] for box in "abc"]
    assert heights == sorted({*heights})
    back = layout.routes[3]
    assert back[0][1] > back[-1][1]


def test_what_nothing_joins_stands_in_rows() -> None:
    sizes = {str(number): (200.0, 20.0) for number in range(50)}
    layout = lay_out(sizes, [])
    assert layout.size[0] <= 1200 and len({y for _, y in layout.places.values()}) == 10


def test_lines_that_need_not_cross_do_not() -> None:
    sizes = dict.fromkeys("abcdef", (40.0, 20.0))
    links = [Link(*ends) for ends in ("ab", "ac", "ad", "be", "ce", "df", "bf")]
    layout = lay_out(sizes, links)
    (c, b, d), (e, f) = [layout.places[box][0] for box in "cbd"], [layout.places[box][0] for box in "ef"]
    assert (c < b < d and e < f) or (c > b > d and e > f)
