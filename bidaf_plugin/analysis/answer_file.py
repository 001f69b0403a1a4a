import json
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence, Tuple

from allennlp.common.util import JsonDict, sanitize
from allennlp.data import Instance

from bidaf_plugin.common.files import open_atomically

# Takes the metadata of some questions and the answers to them.
WriteAnswers = Callable[[Sequence[Any], Iterable[JsonDict]], None]


@contextmanager
def open_answer_file(
    path: str, instances: Optional[Sequence[Instance]] = None
) -> Iterator[WriteAnswers]:
    """
    A function that writes answers to a file, one line of JSON for each. The file is either whole or
    not there.

    # Parameters

    path : `str`
    instances : `Sequence[Instance]`, optional (default = `None`)
        The data, in whose order the answers will be. (The order of the file, unless a data loader has
        read it with several workers: then that in which these have sent the questions.) Without it they
        are written as they come: data that is too large to be kept has more answers than can be kept.
    """
    # Questions are recognised by their metadata, which pass through the model as they are. Where a data
    # loader makes its batches in other processes they are copies, and stay in the order of the batches.
    places = {id(item["metadata"].metadata): place for place, item in enumerate(instances or [])}
    lines: List[Tuple[int, str]] = []
    with open_atomically(path) as file:

        def write(metadata: Sequence[Any], answers: Iterable[JsonDict]) -> None:
            for item, answer in zip(metadata, answers, strict=True):
                # `sanitize` is for tensors and the like only: it makes the text "None" of None.
                line = json.dumps(answer, default=sanitize) + "\n"
                if instances is None:
                    file.write(line)
                else:
                    lines.append((places.get(id(item), len(lines)), line))

        yield write
        file.writelines(line for _, line in sorted(lines, key=itemgetter(0)))
