import json
from contextlib import contextmanager, nullcontext
from operator import itemgetter
from os import PathLike
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

import torch
from allennlp.common.checks import check_for_gpu
from allennlp.common.tqdm import Tqdm
from allennlp.common.util import JsonDict, dump_metrics, int_to_device, sanitize
from allennlp.data import DataLoader, Instance
from allennlp.evaluation import Evaluator
from allennlp.models import Model
from overrides import overrides

from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.common.folders import check_can_be_written

# Takes the metadata of some questions and the answers to them.
WriteAnswers = Callable[[Sequence[Any], Iterable[JsonDict]], None]


@Evaluator.register("bidaf_questions")
class QuestionEvaluator(Evaluator):
    """
    What `allennlp evaluate` does, counted in questions: it shows how many have been answered and how
    many are answered per second, and `--predictions-output-file` receives one line for each, as
    `allennlp predict` writes it, in the order of the data: that of the file, unless the data loader has
    several workers (`num_workers` of 2 or more), which send questions as they read them, or
    `max_instances_in_memory`, which keeps the order of the batches. The numbers are those of AllenNLP's own.

    Registered as an `Evaluator` with name "bidaf_questions". For the parameters see `Evaluator`; a
    config gives them with the key `evaluation`.
    """

    @overrides
    def __call__(
        self,
        model: Model,
        data_loader: DataLoader,
        batch_weight_key: Optional[str] = None,
        metrics_output_file: Optional[Union[str, PathLike]] = None,
        predictions_output_file: Optional[Union[str, PathLike]] = None,
    ) -> Dict[str, Any]:
        for path in (metrics_output_file, predictions_output_file):
            if path is not None:
                check_can_be_written(str(path))
        check_for_gpu(self.cuda_device)
        data_loader.set_target_device(int_to_device(self.cuda_device))
        # Data that is read piece by piece is too large to be kept.
        is_in_pieces = getattr(data_loader, "max_instances_in_memory", None) is not None
        instances = None if is_in_pieces else list(data_loader.iter_instances())
        total_loss = total_weight = 0.0
        model.eval()
        with (
            torch.no_grad(),
            (
                open_answer_file(str(predictions_output_file), instances)
                if predictions_output_file is not None
                else nullcontext()
            ) as write_answers,
            Tqdm.tqdm(
                total=None if instances is None else len(instances), unit=" questions"
            ) as progress,
        ):
            for batch in data_loader:
                output_dict = model(**batch)
                metrics = model.get_metrics()
                if "loss" in output_dict:
                    weight = output_dict[batch_weight_key].item() if batch_weight_key else 1.0
                    total_loss += output_dict["loss"].item() * weight
                    total_weight += weight
                    metrics["loss"] = total_loss / total_weight
                if write_answers is not None:
                    write_answers(batch["metadata"], self._answers(model, output_dict))
                shown = [
                    f"{name}: {value:.2f}" for name, value in metrics.items() if name[0] != "_"
                ]
                progress.set_description(f"{', '.join(shown)} ||", refresh=False)
                progress.update(len(batch["metadata"]))
        final_metrics = model.get_metrics(reset=True)
        if total_weight:
            final_metrics["loss"] = total_loss / total_weight
        if metrics_output_file is not None:
            dump_metrics(str(metrics_output_file), final_metrics, log=True)
        return final_metrics

    def _answers(self, model: Model, output_dict: Dict[str, Any]) -> Iterable[Dict[str, Any]]:
        readable = getattr(model, self.postprocessor_fn_name)(output_dict)
        readable.pop("loss", None)
        return (
            dict(zip(readable, values, strict=True))
            for values in zip(*readable.values(), strict=True)
        )


@contextmanager
def open_answer_file(
    path: str, instances: Optional[Sequence[Instance]] = None
) -> Iterator[WriteAnswers]:
    """
    A function that writes answers to a file, one line of JSON for each. The file is either whole or
    not there.

    The answers will be in the order of `instances`, the data. (The order of the file, unless a data loader has
    read it with several workers: then that in which these have sent the questions.) Without it they are written
    as they come: data that is too large to be kept has more answers than can be kept.
    """
    # Questions are recognised by their metadata, which pass through the model as they are. Where a data
    # loader makes its batches in other processes they are copies, and stay in the order of the batches.
    indices = {id(item["metadata"].metadata): index for index, item in enumerate(instances or [])}
    lines: List[Tuple[int, str]] = []
    with open_atomically(path) as file:

        def write(metadata: Sequence[Any], answers: Iterable[JsonDict]) -> None:
            for item, answer in zip(metadata, answers, strict=True):
                # `sanitize` is for tensors and the like only: it makes the text "None" of None.
                line = json.dumps(answer, default=sanitize) + "\n"
                if instances is None:
                    file.write(line)
                else:
                    lines.append((indices.get(id(item), len(lines)), line))

        yield write
        file.writelines(line for _, line in sorted(lines, key=itemgetter(0)))
