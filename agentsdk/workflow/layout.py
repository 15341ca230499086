"""Where the boxes and arrows of a drawing go: in layers from top to bottom, few arrows crossing.

The usual four passes (Sugiyama's): arrows that close a circle are turned round, each box gets a layer below those that lead to
it, the boxes of a layer are ordered by their neighbours, and moved as near to these as their order allows. It has no chance in
it: one drawing always looks the same.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SIDE_GAP, LAYER_GAP, PART_GAP, WIDEST = 28.0, 30.0, 24.0, 1200.0
_SWEEPS = 12

Size = tuple[float, float]
Point = tuple[float, float]


@dataclass(frozen=True)
class Link:
    """An arrow between two boxes, with the size of its text. A `beside` one has its target to the right of its source."""

    source: str
    target: str
    text: Size = (0.0, 0.0)
    beside: bool = False


@dataclass(frozen=True)
class Layout:
    """`places`: the upper left corner of each box; of each link `routes` has the points from source to target, and `texts` the
    middle of its text."""

    size: Size
    places: dict[str, Point]
    routes: list[list[Point]]
    texts: list[Point | None]


@dataclass(eq=False)
class _Item:
    """A box in its layer, or a bend of a link on its way through one. `x` is the middle of the box, from which it reaches
    `left` and `right`: further where something stands beside it."""

    left: float
    right: float
    height: float
    layer: int = 0
    x: float = 0.0
    is_bend: bool = False
    above: list[_Item] = field(default_factory=list["_Item"])
    below: list[_Item] = field(default_factory=list["_Item"])


def lay_out(sizes: Mapping[str, Size], links: Sequence[Link]) -> Layout:
    """A place for each box. Parts that no link joins stand in rows beside each other."""
    places: dict[str, Point] = {}
    routes: list[list[Point]] = [[] for _ in links]
    texts: list[Point | None] = [None] * len(links)
    x = y = row = widest = 0.0
    for part in _parts(sizes, links):
        inner = [number for number, link in enumerate(links) if link.source in part]
        layout = _Part({box: sizes[box] for box in part}, [links[number] for number in inner]).layout()
        if x and x + layout.size[0] > WIDEST:
            x, y, row = 0.0, y + row + PART_GAP, 0.0
        places |= {box: (x + left, y + top) for box, (left, top) in layout.places.items()}
        for number, route, text in zip(inner, layout.routes, layout.texts, strict=True):
            routes[number] = [(x + left, y + top) for left, top in route]
            texts[number] = None if text is None else (x + text[0], y + text[1])
        widest, row = max(widest, x + layout.size[0]), max(row, layout.size[1])
        x += layout.size[0] + PART_GAP
    return Layout((widest, y + row), places, routes, texts)


def _parts(sizes: Mapping[str, Size], links: Sequence[Link]) -> list[list[str]]:
    """The boxes that are joined by links, each part in the order given."""
    parts = {box: [box] for box in sizes}
    for link in links:
        one, other = parts[link.source], parts[link.target]
        if one is not other:
            one += other
            parts.update(dict.fromkeys(other, one))
    place = {box: number for number, box in enumerate(sizes)}
    return [sorted(part, key=place.__getitem__) for part in {id(part): part for part in parts.values()}.values()]


class _Part:
    """Boxes that hang together, on their way to a place."""

    def __init__(self, sizes: Mapping[str, Size], links: Sequence[Link]) -> None:
        self.sizes = sizes
        self.links = links
        self.beside = {link.source: link.target for link in links if link.beside}
        self.items: dict[str, _Item] = {}
        for box, (width, height) in sizes.items():
            if box not in self.beside.values():
                self.items[box] = _Item(width / 2, width / 2, height)
        for box, other in self.beside.items():
            item, (width, height) = self.items[box], sizes[other]
            item.right += SIDE_GAP * 2 + width
            item.height = max(item.height, height)
        self.flow = [link for link in links if not link.beside and link.source != link.target]
        self.turned = self._turned()
        self._set_layers()
        self.chains = {id(link): self._chain(link) for link in self.flow}
        self.layers = self._ordered()

    def layout(self) -> Layout:
        """The places."""
        _place(self.layers)
        tops, total = _heights(self.layers)
        left = min(item.x - item.left for layer in self.layers for item in layer)
        right = max(item.x + item.right for layer in self.layers for item in layer)
        places: dict[str, Point] = {}
        for box, item in self.items.items():
            top, height = tops[item.layer]
            width, tall = self.sizes[box]
            places[box] = item.x - left - width / 2, top + (height - tall) / 2
            if other := self.beside.get(box):
                places[other] = item.x - left + width / 2 + SIDE_GAP * 2, top + (height - self.sizes[other][1]) / 2
        routes = [self._route(link, places, tops, left) for link in self.links]
        return Layout((right - left, total), places, [route for route, _ in routes], [text for _, text in routes])

    def _route(
        self, link: Link, places: Mapping[str, Point], tops: Sequence[tuple[float, float]], left: float
    ) -> tuple[list[Point], Point | None]:
        """The points that a link goes through, and the middle of its text."""
        if link.beside:
            (x, y), (width, height), (to, _) = places[link.source], self.sizes[link.source], places[link.target]
            return [(x + width, y + height / 2), (to, y + height / 2)], None
        if link.source == link.target:
            return [], None
        upper, *bends, lower = self.chains[id(link)]
        names = (link.target, link.source) if id(link) in self.turned else (link.source, link.target)
        points = [(upper.x - left, places[names[0]][1] + self.sizes[names[0]][1])]
        for bend in bends:
            top, height = tops[bend.layer]
            points += [(bend.x - left, top), (bend.x - left, top + height)]
        points.append((lower.x - left, places[names[1]][1]))
        text = None
        if any(link.text):
            top, height = tops[bends[0].layer]
            text = bends[0].x - left, top + height / 2
        return points[:: -1 if id(link) in self.turned else 1], text

    def _turned(self) -> set[int]:
        """The links that close a circle."""
        leads: dict[str, list[Link]] = {box: [] for box in self.items}
        for link in self.flow:
            leads[link.source].append(link)
        turned: set[int] = set()
        seen: set[str] = set()
        for first in self.items:
            path, trail = {first}, [(first, iter(leads[first]))]
            while trail and (first not in seen or len(trail) > 1):
                box, rest = trail[-1]
                onward = next((each for each in rest if each.target in path or each.target not in seen), None)
                if onward is None:
                    seen.add(box)
                    path.discard(box)
                    trail.pop()
                elif onward.target in path:
                    turned.add(id(onward))
                else:
                    path.add(onward.target)
                    trail.append((onward.target, iter(leads[onward.target])))
        return turned

    def _ends(self, link: Link) -> tuple[_Item, _Item]:
        """The upper and the lower one."""
        source, target = self.items[link.source], self.items[link.target]
        return (target, source) if id(link) in self.turned else (source, target)

    def _set_layers(self) -> None:
        """Each box below all that lead to it. A link with a text passes a layer where that stands."""
        ends = [(*self._ends(link), 2 if any(link.text) else 1) for link in self.flow]
        waits = {id(item): 0 for item in self.items.values()}
        leads: dict[int, list[tuple[_Item, int]]] = {id(item): [] for item in self.items.values()}
        for upper, lower, length in ends:
            waits[id(lower)] += 1
            leads[id(upper)].append((lower, length))
        ready = [item for item in self.items.values() if not waits[id(item)]]
        for item in ready:
            for lower, length in leads[id(item)]:
                lower.layer = max(lower.layer, item.layer + length)
                waits[id(lower)] -= 1
                if not waits[id(lower)]:
                    ready.append(lower)

    def _chain(self, link: Link) -> list[_Item]:
        """A link's ends, and between these a bend in each layer that it passes; the first one holds its text."""
        upper, lower = self._ends(link)
        chain = [upper]
        for layer in range(upper.layer + 1, lower.layer):
            width, height = link.text if layer == upper.layer + 1 else (0.0, 0.0)
            chain.append(_Item(width / 2, width / 2, height, layer, is_bend=True))
        chain.append(lower)
        for one, other in pairwise(chain):
            one.below.append(other)
            other.above.append(one)
        return chain

    def _ordered(self) -> list[list[_Item]]:
        """The layers, their items in the order with the fewest crossings that was found."""
        layers: list[list[_Item]] = [[] for _ in range(1 + max(item.layer for item in self.items.values()))]
        seen: set[int] = set()
        waiting = [item for item in reversed(self.items.values()) if not item.above]
        while waiting:
            item = waiting.pop()
            if id(item) not in seen:
                seen.add(id(item))
                layers[item.layer].append(item)
                waiting += reversed(item.below)
        best = [list(layer) for layer in layers]
        fewest = _crossings(best)
        for sweep in range(_SWEEPS):
            if not fewest:
                break
            goes_down = sweep % 2 == 0
            for fixed, layer in pairwise(layers if goes_down else layers[::-1]):
                place = {id(item): number for number, item in enumerate(fixed)}
                middles = {
                    id(item): _mean([place[id(other)] for other in (item.above if goes_down else item.below)], number)
                    for number, item in enumerate(layer)
                }
                layer.sort(key=lambda item: middles[id(item)])
            if (crossings := _crossings(layers)) < fewest:
                best, fewest = [list(layer) for layer in layers], crossings
        return best


def _crossings(layers: Sequence[Sequence[_Item]]) -> int:
    total = 0
    for upper, lower in pairwise(layers):
        place = {id(item): number for number, item in enumerate(lower)}
        before: list[int] = []
        for item in upper:
            targets = sorted(place[id(other)] for other in item.below)
            total += sum(len(before) - bisect_right(before, target) for target in targets)
            for target in targets:
                insort(before, target)
    return total


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _place(layers: Sequence[Sequence[_Item]]) -> None:
    """Give each item its `x`: near to its neighbours in the layers above and below, in turn."""
    for layer in layers:
        _spread(layer, [0.0] * len(layer))
    for sweep in range(_SWEEPS):
        if sweep % 2 == 0:
            for layer in layers[1:]:
                _spread(layer, [_mean([other.x for other in item.above], item.x) for item in layer])
        else:
            for layer in layers[-2::-1]:
                _spread(layer, [_mean([other.x for other in item.below], item.x) for item in layer])


def _spread(layer: Sequence[_Item], wanted: Sequence[float]) -> None:
    """Put the items of a layer as near to where they want to be as their order and their widths allow.

    That is least squares under an order ("pool adjacent violators"): those that push each other move as one block.
    """
    offsets = [0.0]
    for one, other in pairwise(layer):
        offsets.append(offsets[-1] + one.right + SIDE_GAP + other.left)
    blocks: list[tuple[float, float, int]] = []  # where it wants to be, its weight, how many are in it
    for item, want, offset in zip(layer, wanted, offsets, strict=True):
        at, weight, count = want - offset, 4.0 if item.is_bend else 1.0, 1  # a bend that moves makes a line crooked
        while blocks and blocks[-1][0] >= at:
            where, heft, members = blocks.pop()
            at = (where * heft + at * weight) / (heft + weight)
            weight, count = weight + heft, count + members
        blocks.append((at, weight, count))
    starts = [at for at, _, count in blocks for _ in range(count)]
    for item, at, offset in zip(layer, starts, offsets, strict=True):
        item.x = at + offset


def _heights(layers: Sequence[Sequence[_Item]]) -> tuple[list[tuple[float, float]], float]:
    """The upper edge and the height of each layer, and the height of all."""
    tops: list[tuple[float, float]] = []
    y = 0.0
    for layer in layers:
        height = max(item.height for item in layer)
        tops.append((y, height))
        y += height + LAYER_GAP
    return tops, y - LAYER_GAP
