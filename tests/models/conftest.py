import pytest

from tests.models.numpy_parity import Examples, make_examples


@pytest.fixture(scope="package")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Examples:
    return make_examples(tmp_path_factory.mktemp("parity") / "vectors.txt")
