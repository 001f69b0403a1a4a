"""
The process that measures one system: `python -m benchmarks.worker NAME SETTINGS`. It does what the
lines of JSON on its standard input ask for, one at a time, and answers each with a line of JSON; see
`turns.py` for the other side. Everything goes through AllenNLP's interfaces, the same for both systems.
"""

import json
import os
import sys
import time
import traceback
from copy import deepcopy
from importlib import import_module
from typing import Any, Dict, List, Optional

import torch
from allennlp.common import Params
from allennlp.data import (
    BatchSampler,
    DataLoader,
    DatasetReader,
    TensorDict,
    Vocabulary,
)
from allennlp.models import Model
from allennlp.models.archival import archive_model, load_archive
from allennlp.predictors import Predictor
from allennlp.training.optimizers import Optimizer

from benchmarks.data import split
from benchmarks.listed_batches import ListedBatches
from benchmarks.machine import (
    measure_sgemm,
    peak_memory,
    reset_peak_memory,
    resident_memory,
)
from benchmarks.products import count_product_flops
from benchmarks.systems import PEER, SYSTEMS, Settings, load_config

GRADIENT_NORM = 5.0


class Worker:
    """
    The public methods are what can be asked for. Durations are in seconds, memory is in MiB.

    # Parameters

    name : `str`
        Which system.
    settings : `Settings`
    """

    def __init__(self, name: str, settings: Settings) -> None:
        system = SYSTEMS[name]
        import_module(system.package)
        if system is PEER:
            _save_blank_tokenizer(settings.tokenizer_folder)
        self._config = load_config(system, settings)
        self._folder = settings.folder_of(system)
        self._batches: Dict[str, List[TensorDict]] = {}
        self._sampler = ListedBatches()
        self._own_sampler = BatchSampler.from_params(
            Params(deepcopy(self._config["validation_data_loader"]["batch_sampler"]))
        )
        self._loader: Optional[DataLoader] = None
        torch.manual_seed(0)

    # ---- Reading ----

    def read(self, path: str) -> Dict[str, float]:
        """Reads a file."""
        reader = DatasetReader.from_params(
            Params(deepcopy(self._config["validation_dataset_reader"]))
        )
        start = time.perf_counter()
        self._loader = self._make_loader(reader, path)
        return {
            "read_seconds": time.perf_counter() - start,
            "memory_read": resident_memory(),
            "instances": sum(1 for _ in self._loader.iter_instances()),
        }

    def index(self, vocabulary: str) -> Dict[str, float]:
        """Indexes all that was read."""
        assert self._loader is not None
        vocab = Vocabulary.from_files(vocabulary)
        start = time.perf_counter()
        self._loader.index_with(vocab)
        return {
            "index_seconds": time.perf_counter() - start,
            "memory_indexed": resident_memory(),
            "memory_peak": peak_memory(),
        }

    def make_tensors(self, batch_size: int) -> Dict[str, float]:
        """Makes the tensors of all that was read and indexed, in its order, and forgets them."""
        assert self._loader is not None
        ids = [instance.fields["metadata"]["id"] for instance in self._loader.iter_instances()]
        self._sampler.batches = split(ids, batch_size)
        start = time.perf_counter()
        num_batches = sum(1 for _ in self._loader)
        return {"tensors_seconds": time.perf_counter() - start, "batches": num_batches}

    def make_vocabulary(self, folder: str) -> Dict[str, float]:
        """Builds the vocabulary from what was read."""
        assert self._loader is not None
        params = Params(deepcopy(self._config["vocabulary"]))
        start = time.perf_counter()
        vocab = Vocabulary.from_params(params, instances=self._loader.iter_instances())
        duration = time.perf_counter() - start
        vocab.save_to_files(folder)
        return {"vocabulary_seconds": duration}

    def _make_loader(self, reader: DatasetReader, path: str) -> DataLoader:
        params = deepcopy(self._config["validation_data_loader"])
        for key in ("batch_sampler", "batch_size", "shuffle", "drop_last", "batches_per_epoch"):
            params.pop(key, None)
        return DataLoader.from_params(
            Params(params), reader=reader, data_path=path, batch_sampler=self._sampler
        )

    # ---- Models ----

    def make_archive(self, vocabulary: str) -> str:
        """An archive of the system's model, untrained."""
        vocab = Vocabulary.from_files(vocabulary)
        model = Model.from_params(vocab=vocab, params=Params(deepcopy(self._config["model"])))
        os.makedirs(self._folder, exist_ok=True)
        Params(deepcopy(self._config)).to_file(str(self._folder / "config.json"))
        vocab.save_to_files(str(self._folder / "vocabulary"))
        torch.save(model.state_dict(), self._folder / "best.th")
        archive_model(str(self._folder))
        return str(self._folder / "model.tar.gz")

    def load(self, archive: str) -> Dict[str, Any]:
        """Loads a model and makes it ready to train."""
        loaded = load_archive(archive)
        self._model = loaded.model
        self._reader = loaded.validation_dataset_reader
        parameters = [(n, p) for n, p in self._model.named_parameters() if p.requires_grad]
        self._optimizer = Optimizer.from_params(
            Params(deepcopy(self._config["trainer"]["optimizer"])), model_parameters=parameters
        )
        return {
            "trained_word_vectors": sum(
                p.numel() for name, p in parameters if "token_embedder_tokens" in name
            ),
            "trained_parameters": sum(p.numel() for _, p in parameters),
            "threads": torch.get_num_threads(),
        }

    def load_data(self, path: str) -> int:
        """Reads and indexes a file for the loaded model; returns the number of its questions."""
        self._loader = self._make_loader(self._reader, path)
        self._loader.index_with(self._model.vocab)
        return sum(1 for _ in self._loader.iter_instances())

    def set_batches(self, name: str, batches: List[List[str]]) -> None:
        """Makes the tensors of some batches, to be trained on under a name."""
        assert self._loader is not None
        self._sampler.batches = batches
        self._batches[name] = list(self._loader)

    # ---- Measures ----

    def sgemm(self) -> float:
        """The machine's GFLOP/s."""
        return measure_sgemm()

    def train(self, name: str) -> float:
        """Trains on some batches once: the duration."""
        self._model.train()
        start = time.perf_counter()
        for batch in self._batches[name]:
            self._train_step(batch)
        return time.perf_counter() - start

    def _train_step(self, batch: TensorDict) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._model(**batch)["loss"]
        loss.backward()
        parameters = [p for group in self._optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(parameters, GRADIENT_NORM)
        self._optimizer.step()
        if not torch.isfinite(loss):
            raise ValueError(f"the loss is {loss.item()}")

    def count_products(self, name: str) -> Dict[str, int]:
        """The operations of the matrix products that `train` does on the same batches."""
        return count_product_flops(lambda: self.train(name))

    def step_memory(self, name: str) -> float:
        """By how much the first training step on a batch raises the resident memory at most."""
        self._model.train()
        reset_peak_memory()
        before = resident_memory()
        self._train_step(self._batches[name][0])
        return peak_memory() - before

    def evaluate(self, batches: Optional[List[List[str]]]) -> Dict[str, Any]:
        """
        Makes tensors of the batches, or by default of those that the system's experiment makes of the
        loaded data; runs the model, computes its metrics.
        """
        assert self._loader is not None
        if batches is None:
            self._loader.batch_sampler = self._own_sampler
        else:
            self._loader.batch_sampler = self._sampler
            self._sampler.batches = batches
        self._model.eval()
        start = time.perf_counter()
        with torch.no_grad():
            for batch in self._loader:
                self._model(**batch)
            metrics = self._model.get_metrics(reset=True)
        return {"seconds": time.perf_counter() - start, "metrics": metrics}

    def load_predictor(self, archive: str) -> None:
        """Loads a model to answer questions with."""
        self._predictor = Predictor.from_archive(load_archive(archive))

    def answer_each(self, records: List[Dict[str, str]]) -> List[float]:
        """Answers questions one by one: the duration of each."""
        durations = []
        for record in records:
            start = time.perf_counter()
            self._predictor.predict_json(record)
            durations.append(time.perf_counter() - start)
        return durations

    def answer(self, question: str, passage: str, repetitions: int) -> Dict[str, Any]:
        """Answers one question several times. Memory is that of the first time."""
        instance = self._reader.text_to_instance(question=question, passage=passage)
        self._reader.apply_token_indexers(instance)
        self._model.eval()
        reset_peak_memory()
        before = resident_memory()
        self._model.forward_on_instance(instance)
        memory = peak_memory() - before
        durations = []
        for _ in range(repetitions):
            start = time.perf_counter()
            self._model.forward_on_instance(instance)
            durations.append(time.perf_counter() - start)
        num_tokens = len(instance.fields["passage"])  # type: ignore[arg-type]
        return {"tokens": num_tokens, "seconds": durations, "memory": memory}


def _save_blank_tokenizer(folder: str) -> None:
    """English tokenisation without a model that would have to be downloaded."""
    if not os.path.isdir(folder):
        import spacy

        spacy.blank("en").to_disk(folder)


def main() -> None:
    # What the libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, settings = sys.argv[1:]
    worker = Worker(name, Settings(**json.loads(settings)))
    for line in sys.stdin:
        request = json.loads(line)
        method = request.pop("do")
        try:
            answer = {"result": getattr(worker, method)(**request)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
