from contextlib import nullcontext
from os import PathLike
from typing import Any, ContextManager, Dict, Iterable, List, Optional, Union

import torch
from allennlp.common.checks import check_for_gpu
from allennlp.common.tqdm import Tqdm
from allennlp.common.util import dump_metrics, int_to_device
from allennlp.data import DataLoader, Instance
from allennlp.evaluation import Evaluator
from allennlp.models import Model
from overrides import overrides

from bidaf_plugin.analysis.answer_file import WriteAnswers, open_answer_file
from bidaf_plugin.common.folders import check_can_be_written


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
        instances = _instances_in_memory(data_loader)
        total_loss = total_weight = 0.0
        model.eval()
        total = None if instances is None else len(instances)
        with (
            torch.no_grad(),
            _open_if_named(predictions_output_file, instances) as write_answers,
            Tqdm.tqdm(total=total, unit=" questions") as progress,
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
                progress.set_description(_describe(metrics), refresh=False)
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


def _instances_in_memory(data_loader: DataLoader) -> Optional[List[Instance]]:
    """The data, unless it is read piece by piece because it is too large."""
    if getattr(data_loader, "max_instances_in_memory", None) is not None:
        return None
    return list(data_loader.iter_instances())


def _open_if_named(
    path: Optional[Union[str, PathLike]], instances: Optional[List[Instance]]
) -> ContextManager[Optional[WriteAnswers]]:
    return nullcontext() if path is None else open_answer_file(str(path), instances)


def _describe(metrics: Dict[str, float]) -> str:
    shown = (f"{name}: {value:.2f}" for name, value in metrics.items() if name[0] != "_")
    return ", ".join(shown) + " ||"
