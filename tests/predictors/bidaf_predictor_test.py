from pathlib import Path

import pytest
from allennlp.predictors import Predictor

from bidaf_plugin import predictors
from bidaf_plugin.archives import load
from bidaf_plugin.predictors import BidafPredictor, ClozePredictor, SpanPredictor


class TestBidafPredictor:
    def test_fits_the_reader(self, tiny_archive: Path, tiny_cloze_archive: Path) -> None:
        assert Predictor.by_name("bidaf") is BidafPredictor
        assert type(Predictor.from_path(tiny_archive)) is SpanPredictor
        assert type(Predictor.from_path(tiny_archive, "bidaf")) is SpanPredictor
        assert type(Predictor.from_path(tiny_cloze_archive)) is ClozePredictor

    def test_arguments_are_passed_on(self, tiny_archive: Path, tiny_cloze_archive: Path) -> None:
        span = Predictor.from_path(tiny_archive, max_answer_length=1, skip_bad=True)
        assert span.skip_bad
        first, last = span.predict("Who?", "It was Ada Orn.")["best_span"]
        assert first == last
        cloze = Predictor.from_path(tiny_cloze_archive, skip_bad=True)
        assert cloze.skip_bad
        with pytest.raises(TypeError, match="max_answer_length"):
            Predictor.from_path(tiny_cloze_archive, max_answer_length=1)


def test_archives_can_be_loaded_from_where_the_readme_had_it() -> None:
    from bidaf_plugin.predictors import load_predictor, load_span_predictor

    assert load_predictor is load.load_predictor
    assert load_span_predictor is load.load_span_predictor
    with pytest.raises(AttributeError, match="'bidaf_plugin.predictors' has no attribute 'load_x'"):
        predictors.load_x  # noqa: B018
