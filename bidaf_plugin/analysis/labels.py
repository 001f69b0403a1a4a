"""
Labels beside points of a picture, none over another.
"""

import math
from typing import List, Sequence, Tuple

Place = Tuple[float, float]
Box = Tuple[float, float, float, float]

_NUM_DIRECTIONS = 16
_MAX_RINGS = 12


def place_labels(
    anchors: Sequence[Place],
    sizes: Sequence[Place],
    points: Sequence[Place],
    picture: Place,
    gap: float = 4.0,
) -> List[Place]:
    """
    Finds a place for the label of each anchor: as near as it can be without covering another label or
    leaving the picture, and among those the one that covers the fewest points.

    # Parameters

    anchors : `Sequence[Tuple[float, float]]`
        What the labels belong to.
    sizes : `Sequence[Tuple[float, float]]`
        Width and height of each label.
    points : `Sequence[Tuple[float, float]]`
        Everything that is better not covered.
    picture : `Tuple[float, float]`
        Width and height of the picture, in which all of them are.
    gap : `float`, optional (default = `4.0`)
        Between a label and its anchor, at least.

    # Returns

    `List[Tuple[float, float]]`
        The centres of the labels.
    """
    boxes: List[Box] = []
    for anchor, size in zip(anchors, sizes, strict=True):
        best: Tuple[float, Box] = (math.inf, _box(anchor, size))
        for ring in range(_MAX_RINGS):
            candidates = [
                (ring + _num_covered(box, points), box)
                for box in _ring(anchor, size, gap * (1 + 1.5 * ring))
                if _is_inside(box, picture) and not any(_overlap(box, other) for other in boxes)
            ]
            best = min([best, *candidates], key=lambda candidate: candidate[0])
            # No place that is farther away can be better.
            if best[0] <= ring + 1:
                break
        boxes.append(best[1])
    return [((left + right) / 2, (bottom + top) / 2) for left, bottom, right, top in boxes]


def _box(center: Place, size: Place) -> Box:
    (x, y), (width, height) = center, size
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _ring(anchor: Place, size: Place, distance: float) -> List[Box]:
    """The label in all directions from its anchor, at the same distance."""
    boxes = []
    for number in range(_NUM_DIRECTIONS):
        angle = 2 * math.pi * number / _NUM_DIRECTIONS
        x = anchor[0] + math.cos(angle) * (distance + size[0] / 2)
        y = anchor[1] + math.sin(angle) * (distance + size[1] / 2)
        boxes.append(_box((x, y), size))
    return boxes


def _is_inside(box: Box, picture: Place) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= picture[0] and box[3] <= picture[1]


def _overlap(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _num_covered(box: Box, points: Sequence[Place]) -> int:
    left, bottom, right, top = box
    return sum(left <= x <= right and bottom <= y <= top for x, y in points)
