"""
What several tests of cloze questions share: how to write `.question` files and archives of them,
and a tiny experiment.
"""

import io
import tarfile
from copy import deepcopy
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional

from allennlp.common import Params
from allennlp.data import DatasetReader, Instance

from bidaf_plugin.data.dataset_readers import BidafClozeReader
from bidaf_plugin.data.dataset_readers.cloze_files import iterate_questions
from bidaf_plugin.data.dataset_readers.cloze_question import BadQuestions
from tests.helpers import FIXTURES, tiny_params

TINY_CLOZE = FIXTURES / "cloze" / "tiny"
UNANSWERABLE_CLOZE = FIXTURES / "cloze" / "unanswerable"
CLOZE_SAMPLE = FIXTURES / "cloze" / "sample.tar.gz"

ARTICLE = "@entity1 met @entity2 in @entity3 , where @entity1 lives"
QUESTION = "@placeholder met @entity2"

STRICT = BadQuestions(skip=False)


def question_text(
    article: str = ARTICLE,
    question: str = QUESTION,
    answer: str = "@entity1",
    entity_map: str = "@entity1:Ada Orn\n@entity2:Bo: the second",
    url: str = "http://example.org/1",
) -> str:
    return f"{url}\n\n{article}\n\n{question}\n\n{answer}\n\n{entity_map}"


def write_folder(folder: Path, count: int, texts: Optional[Dict[str, str]] = None) -> Path:
    """A folder with `count` good questions, q0000 to ..., and the files of `texts`."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        text = question_text(url=f"http://example.org/{number}")
        (folder / f"q{number:04}.question").write_text(text, encoding="utf-8")
    for name, text in (texts or {}).items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder


def write_tar(path: Path, names: Iterable[str], mode: str = "w:gz") -> Path:
    """An archive with a good question of each name."""
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name in names:
            content = question_text(url=name).encode("utf-8")
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def ids(path: Any, *arguments: Any) -> List[str]:
    """The ids of all questions; none may be bad."""
    return [question.id for question in iterate_questions(str(path), STRICT, *arguments)]


def numbered(count: int) -> List[str]:
    """The ids of `write_folder`."""
    return [f"q{number:04}" for number in range(count)]


def read(path: Any, **arguments: Any) -> List[Instance]:
    return list(BidafClozeReader(**arguments).read(str(path)))


def window_words(instance: Instance) -> List[List[str]]:
    """The words of each window, as the file has them."""
    words = instance["metadata"]["passage"].split()
    positions = instance["passage"].word_positions()
    return [[words[p] for p in window if p >= 0] for window in positions]


def candidate_of_each_word(instance: Instance) -> List[List[str]]:
    candidates = [*instance["metadata"]["candidates"], "-"]
    return [[candidates[e] for e in window] for window in instance["entity_ids"].array]


def tiny_cloze_params(choices: str = "") -> Dict[str, Any]:
    """
    The experiment of training_configs/bidaf_cnn.jsonnet in tiny, on the tiny fixture. `choices` is
    jsonnet that overrides choices of training_configs/lib.
    """
    data = f"train_data:: '{TINY_CLOZE}', dev_data:: '{TINY_CLOZE}', num_entities:: 20,"
    return tiny_params(f"{data} }} + {{ {choices}", "bidaf_cnn.jsonnet")


def read_cloze(params: Dict[str, Any], path: Path = TINY_CLOZE) -> List[Instance]:
    """What the reader for evaluation makes of the questions."""
    reader = DatasetReader.from_params(Params(deepcopy(params["validation_dataset_reader"])))
    return list(reader.read(str(path)))
