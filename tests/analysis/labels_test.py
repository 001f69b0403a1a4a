import random
from itertools import combinations

from bidaf_plugin.analysis.labels import place_labels


class TestPlaceLabels:
    def test_no_label_is_over_another_or_outside(self) -> None:
        generator = random.Random(0)
        anchors = [(generator.uniform(20, 60), generator.uniform(20, 60)) for _ in range(12)]
        size = (30.0, 9.0)
        centers = place_labels(anchors, [size] * 12, anchors, (260, 260))
        for (x, y), (other_x, other_y) in combinations(centers, 2):
            assert abs(x - other_x) >= size[0] - 1e-9 or abs(y - other_y) >= size[1] - 1e-9
        for x, y in centers:
            assert 15 <= x <= 245 and 4.5 <= y <= 255.5

    def test_a_label_alone_is_beside_its_anchor(self) -> None:
        ((x, y),) = place_labels([(100, 100)], [(20, 10)], [(100, 100)], (200, 200))
        assert (x, y) == (100 + 4 + 10, 100)

    def test_points_are_not_covered_where_there_is_room(self) -> None:
        points = [(100.0, 100.0), (114.0, 100.0)]
        ((x, y),) = place_labels(points[:1], [(20, 10)], points, (200, 200))
        assert not (abs(x - 114) <= 10 and abs(y - 100) <= 5)
