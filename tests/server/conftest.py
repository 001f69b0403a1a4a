from pathlib import Path
from typing import Iterator, List

import pytest
from starlette.testclient import TestClient

from bidaf_plugin.server.models import ServedModel, load_models
from tests.server.helpers import serving


@pytest.fixture(scope="session")
def served_models(
    tiny_archive: Path, v2_archive: Path, tiny_cloze_archive: Path
) -> List[ServedModel]:
    """run (spans), run-2 (spans or no answer) and run-3 (cloze)."""
    return load_models([str(tiny_archive), str(v2_archive.parent), str(tiny_cloze_archive)])


@pytest.fixture(scope="module")
def client(served_models: List[ServedModel]) -> Iterator[TestClient]:
    with serving(served_models) as (client, _, _):
        yield client
