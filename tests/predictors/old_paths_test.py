import pytest

from bidaf_plugin import predictors
from bidaf_plugin.archives import load


def test_archives_can_be_loaded_from_where_the_readme_had_it() -> None:
    from bidaf_plugin.predictors import load_predictor, load_span_predictor

    assert load_predictor is load.load_predictor
    assert load_span_predictor is load.load_span_predictor
    with pytest.raises(AttributeError, match="'bidaf_plugin.predictors' has no attribute 'load_x'"):
        predictors.load_x  # noqa: B018
