import numpy
import pytest

from bidaf_plugin.analysis.score_report import paired_bootstrap


def scores(seed: int, num_questions: int = 400) -> numpy.ndarray:
    return numpy.random.default_rng(seed).choice([0.0, 0.4, 2 / 3, 1.0], num_questions)


class TestPairedBootstrap:
    def test_agrees_with_drawing_question_by_question(self) -> None:
        first, second = scores(0), scores(1)
        result = paired_bootstrap(first, second)
        generator = numpy.random.default_rng(2)
        drawn = generator.integers(len(first), size=(10_000, len(first)))
        low, high = numpy.percentile((second - first)[drawn].mean(axis=1), [2.5, 97.5])
        assert result.difference == pytest.approx((second - first).mean())
        assert result.low == pytest.approx(low, abs=2e-3)
        assert result.high == pytest.approx(high, abs=2e-3)

    def test_the_same_seed_gives_the_same_numbers(self) -> None:
        assert paired_bootstrap(scores(0), scores(1)) == paired_bootstrap(scores(0), scores(1))
        assert paired_bootstrap(scores(0), scores(1)) != paired_bootstrap(
            scores(0), scores(1), seed=1
        )

    def test_the_other_way_round_it_is_the_negative(self) -> None:
        result, reverse = (
            paired_bootstrap(*pair) for pair in ((scores(0), scores(1)), (scores(1), scores(0)))
        )
        assert reverse.difference == pytest.approx(-result.difference)
        assert reverse.low == pytest.approx(-result.high, abs=2e-3)
        assert reverse.p_value == pytest.approx(result.p_value, abs=0.05)

    def test_no_difference(self) -> None:
        result = paired_bootstrap(scores(0), scores(0))
        assert result == (0, 0, 0, 1)

    def test_a_clear_difference(self) -> None:
        first = scores(0)
        result = paired_bootstrap(first, numpy.minimum(first + 0.5, 1))
        assert 0 < result.low < result.difference < result.high
        # As small as 10,000 resamples can show.
        assert result.p_value == pytest.approx(2 / 10_001)

    def test_p_is_evenly_spread_where_there_is_no_true_difference(self) -> None:
        values = [
            paired_bootstrap(scores(2 * seed), scores(2 * seed + 1), num_resamples=500).p_value
            for seed in range(200)
        ]
        assert numpy.mean(numpy.array(values) < 0.1) == pytest.approx(0.1, abs=0.06)
        assert numpy.mean(numpy.array(values) < 0.5) == pytest.approx(0.5, abs=0.12)

    def test_the_interval_holds_the_true_difference_as_often_as_it_says(self) -> None:
        intervals = [
            paired_bootstrap(scores(2 * seed), scores(2 * seed + 1), 500, confidence_level=0.8)
            for seed in range(200)
        ]
        share = numpy.mean([result.low <= 0 <= result.high for result in intervals])
        assert share == pytest.approx(0.8, abs=0.09)
