import random
import re
import tarfile
from pathlib import Path
from shutil import copy
from typing import Any, Dict, List

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.dataset_readers.dataset_reader import DistributedInfo, WorkerInfo

from bidaf_plugin.commands.pack_cloze import pack
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers import BidafClozeReader
from tests.cloze_helpers import (
    ARTICLE,
    QUESTION,
    TINY_CLOZE,
    UNANSWERABLE_CLOZE,
    candidate_of_each_word,
    question_text,
    read,
    window_words,
    write_folder,
    write_tar,
)
from tests.helpers import as_tensors, run_in_two_processes

TINY_IDS = [f"tiny-{number}" for number in range(1, 7)]


class TestBidafClozeReader:
    def test_fields(self) -> None:
        instances = read(TINY_CLOZE)
        assert [instance["metadata"]["id"] for instance in instances] == TINY_IDS
        metadata = instances[0]["metadata"].metadata
        # In the order of their first mentions.
        assert metadata["candidates"] == ["@entity4", "@entity0", "@entity2", "@entity7"]
        assert metadata["candidate_names"] == ["Eastfold", "Lorbeck", "Mila Tarn", "Jon Averill"]
        assert metadata["answer"] == "@entity7"
        assert instances[0]["answer_entity"].array == 3
        assert metadata["question"].split()[:3] == ["@placeholder", "paid", "for"]
        assert len(metadata["passage"].split()) == len(instances[0]["passage"])
        # Names are given where the file has them, and may hold colons.
        assert instances[2]["metadata"]["candidate_names"] == [None, None]
        assert instances[3]["metadata"]["candidate_names"] == ["Dora: the Elder", "Pax : a play"]

    def test_each_mention_has_a_window_of_nineteen_words(self) -> None:
        instance = read(TINY_CLOZE)[4]
        words = instance["metadata"]["passage"].split()
        mentions = [i for i, word in enumerate(words) if re.fullmatch(r"@entity\d+", word)]
        assert window_words(instance) == [words[max(i - 9, 0) : i + 10] for i in mentions]
        assert [len(window) for window in window_words(instance)] == [10, 11, 12, 19, 19, 15]
        assert instance["metadata"]["window_starts"] == [max(i - 9, 0) for i in mentions]
        # Every mention in a window counts, not only the one in its middle.
        assert candidate_of_each_word(instance)[2] == [
            "@entity5", "@entity5", "@entity6", *["-"] * 16,
        ]  # fmt: skip

    def test_a_whole_article_is_one_window(self) -> None:
        for instance in read(TINY_CLOZE, window=None):
            assert window_words(instance) == [instance["metadata"]["passage"].split()]

    def test_other_widths(self) -> None:
        assert window_words(read(TINY_CLOZE, window=1)[3]) == [["@entity1"], ["@entity12"]]
        assert window_words(read(TINY_CLOZE, window=3)[3]) == [
            ["@entity1", "beat"],
            ["beat", "@entity12"],
        ]
        for width in (0, 2, -1):
            with pytest.raises(ConfigurationError, match="odd number"):
                BidafClozeReader(window=width)

    def test_only_exact_names_are_entities(self) -> None:
        instance = read(TINY_CLOZE)[2]
        # Neither "@", nor "@choirmaster", nor what only the question mentions.
        assert instance["metadata"]["candidates"] == ["@entity11", "@entity3"]
        instance = BidafClozeReader().text_to_instance(
            "@placeholder x", "@entity1s @entity @Entity3 @entity٣ a@entity4 @entity05"
        )
        assert instance["metadata"]["candidates"] == ["@entity05"]

    def test_tensors_of_a_batch(self) -> None:
        instances = read(TINY_CLOZE)
        tensors = as_tensors(instances, Vocabulary.from_instances(instances))
        # tiny-1 has 8 mentions.
        assert tensors["passage"]["tokens"]["tokens"].shape == (6, 8, 19)
        assert tensors["entity_ids"].shape == (6, 8, 19)
        assert tensors["answer_entity"].tolist() == [3, 0, 1, 1, 0, 1]
        mask = tensors["passage"]["tokens"]["tokens"] != 0
        assert mask.any(dim=-1).sum(dim=-1).tolist() == [8, 8, 3, 2, 6, 3]
        assert (tensors["entity_ids"][~mask] == -1).all()

    def test_own_text(self) -> None:
        reader = BidafClozeReader(keep_unanswerable=True)
        instance = reader.text_to_instance(
            "Who met (@entity2)? @placeholder!",
            "@entity1, Met @entity2.",
            id="x",
            names={"@entity1": "Ada"},
        )
        metadata = instance["metadata"].metadata
        assert metadata["passage"].split() == ["@entity1", ",", "Met", "@entity2", "."]
        assert metadata["candidate_names"] == ["Ada", None]
        assert (metadata["id"], metadata["answer"]) == ("x", None)
        assert instance["answer_entity"].array == -1
        # The data is in lower case.
        assert [token.text for token in instance["passage"].tokens][2] == "met"
        answered = reader.text_to_instance(QUESTION, ARTICLE, "@entity3")
        assert answered["answer_entity"].array == 2

    @pytest.mark.parametrize(
        "question, passage, reason",
        [
            ("who met @entity1", ARTICLE, "no @placeholder"),
            ("@placeholder met @placeholder", ARTICLE, "2 times @placeholder"),
            (QUESTION, "", "no entity"),
            (QUESTION, "nobody here", "no entity"),
        ],
    )
    def test_own_text_that_cannot_be_used(self, question: str, passage: str, reason: str) -> None:
        with pytest.raises(DataError, match=reason):
            BidafClozeReader().text_to_instance(question, passage)

    def test_unanswerable_questions_stop_training(self) -> None:
        with pytest.raises(DataError, match="not-there.question: .*'@entity3' is not in the art"):
            read(UNANSWERABLE_CLOZE / "answer-not-there.question")
        with pytest.raises(DataError, match="no-entities.question: the article has no entity"):
            read(UNANSWERABLE_CLOZE / "no-entities.question")

    @pytest.mark.parametrize("window", [19, None])
    def test_unanswerable_questions_stay_in_evaluation(self, window: int) -> None:
        instances = read(UNANSWERABLE_CLOZE, keep_unanswerable=True, window=window)
        assert [int(instance["answer_entity"].array) for instance in instances] == [-2, -2]
        assert [len(instance["metadata"]["candidates"]) for instance in instances] == [2, 0]
        vocab = Vocabulary.from_instances(instances)
        # Alone and together with others.
        for batch in (instances, instances[1:]):
            tensors = as_tensors(batch, vocab)
            assert (tensors["entity_ids"][-1] == -1).all()
            assert tensors["passage"]["tokens"]["tokens"].shape == tensors["entity_ids"].shape
        words_of_last = tensors["passage"]["tokens"]["tokens"][-1]
        assert words_of_last.any() == (window is None)

    def test_bad_questions_are_skipped_and_counted(self, tmp_path: Path) -> None:
        folder = write_folder(
            tmp_path,
            3,
            {
                "bad1.question": "url\n\n" + ARTICLE,
                "bad2.question": question_text(answer="Ada"),
                "bad3.question": question_text(question="who ?"),
                "bad4.question": question_text(question="@placeholder or @placeholder"),
                "bad5.question": question_text(entity_map="@entity1 Ada"),
                "bad6.question": question_text(answer="@entity9"),
                "bad7.question": question_text(article="nobody here"),
                "bad8.question": "\udcff",
            },
        )
        reader = BidafClozeReader(skip_bad=True)
        assert len(list(reader.read(str(folder)))) == 3
        assert reader.skipped == {
            "missing parts": 1,
            "answer is no entity": 1,
            "no placeholder": 1,
            "several placeholders": 1,
            "bad entity map": 1,
            "answer not in the article": 1,
            "no entities": 1,
            "not UTF-8": 1,
        }
        with pytest.raises(DataError, match="bad1.question: the question is missing"):
            read(folder)

    def test_files_without_an_answer(self, tmp_path: Path) -> None:
        folder = write_folder(tmp_path, 1, {"q1.question": question_text(answer="")})
        with pytest.raises(DataError, match="q1.question: the answer is missing"):
            read(folder)
        instances = read(folder, needs_answer=False)
        assert [int(instance["answer_entity"].array) for instance in instances] == [0, -1]

    def test_only_bad_questions_are_an_error(self, tmp_path: Path) -> None:
        write_folder(tmp_path, 0, {"bad.question": ""})
        with pytest.raises(DataError, match="not one question can be used"):
            read(tmp_path, skip_bad=True)

    @pytest.mark.parametrize("kind", ["tar", "packed"])
    def test_damaged_data_is_never_skipped(self, tmp_path: Path, kind: str) -> None:
        path = write_tar(tmp_path / "data", [f"{number}.question" for number in range(9)])
        content = path.read_bytes()[:-10]
        if kind == "packed":
            path.unlink()
            pack(str(TINY_CLOZE), str(path))
            content = path.read_bytes()
            content = content[:100] + bytes([content[100] ^ 1]) + content[101:]
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"data: .*damaged after \d questions"):
            read(path, skip_bad=True)

    def test_max_instances(self) -> None:
        assert len(read(TINY_CLOZE, max_instances=2)) == 2

    def test_from_params(self) -> None:
        params = {
            "type": "bidaf_cloze",
            "window": None,
            "token_indexers": {"tokens": {"type": "cloze_words"}},
        }
        assert isinstance(DatasetReader.from_params(Params(params)), BidafClozeReader)


def read_share(global_rank: int, world_size: int, gpu_id: int, expected: List[List[str]]) -> None:
    instances = read(TINY_CLOZE)
    assert [instance["metadata"]["id"] for instance in instances] == expected[global_rank]


class TestShards:
    def test_in_distributed_processes(self) -> None:
        torch.set_num_threads(1)
        run_in_two_processes(read_share, expected=[TINY_IDS[0::2], TINY_IDS[1::2]])

    @pytest.fixture(params=["folder", "tar", "packed"])
    def data(self, tmp_path: Path, request: pytest.FixtureRequest) -> str:
        if request.param == "folder":
            return str(TINY_CLOZE)
        if request.param == "tar":
            path = tmp_path / "tiny.tar.gz"
            with tarfile.open(path, "w:gz") as archive:
                archive.add(TINY_CLOZE, "tiny")
            return str(path)
        packed = str(tmp_path / "packed")
        pack(str(TINY_CLOZE), packed)
        return packed

    def test_every_question_is_read_by_one_reader(self, data: str) -> None:
        shares = []
        for rank in range(2):
            for worker in range(2):
                reader = BidafClozeReader()
                reader._set_distributed_info(DistributedInfo(2, rank))
                reader._set_worker_info(WorkerInfo(2, worker))
                shares.append([i["metadata"]["id"] for i in reader.read(data)])
        assert sorted(len(share) for share in shares) == [1, 1, 2, 2]
        assert sorted(id for share in shares for id in share) == TINY_IDS

    def test_max_instances_are_counted_over_all_readers(self, data: str) -> None:
        ids = []
        for worker in range(2):
            reader = BidafClozeReader(max_instances=5)
            reader._set_worker_info(WorkerInfo(2, worker))
            ids += [instance["metadata"]["id"] for instance in reader.read(data)]
        assert sorted(ids) == TINY_IDS[:5]

    @pytest.mark.parametrize("is_packed", [False, True])
    def test_max_instances_are_questions_that_can_be_used(
        self, tmp_path: Path, is_packed: bool
    ) -> None:
        # They are the first by name, and can be packed.
        bad = {f"bad{n}.question": question_text(answer="@entity99") for n in range(4)}
        path = str(write_folder(tmp_path / "questions", 10, bad))
        if is_packed:
            pack(path, str(tmp_path / "packed"))
            path = str(tmp_path / "packed")
        ids = []
        for worker in range(2):
            reader = BidafClozeReader(max_instances=5, skip_bad=True)
            reader._set_worker_info(WorkerInfo(2, worker))
            ids += [instance["metadata"]["id"] for instance in reader.read(path)]
        assert sorted(ids) == [f"q{number:04}" for number in range(5)]

    def test_a_share_may_have_only_bad_questions(self, tmp_path: Path) -> None:
        write_folder(tmp_path, 1, {"bad.question": ""})
        num_read = []
        for worker in range(2):
            reader = BidafClozeReader(skip_bad=True)
            reader._set_worker_info(WorkerInfo(2, worker))
            num_read.append(len(list(reader.read(str(tmp_path)))))
        assert num_read == [0, 1]

    @pytest.mark.parametrize("num_workers", [0, 2])
    @pytest.mark.parametrize("max_instances_in_memory", [None, 4])
    def test_names_differ_between_epochs(
        self, data: str, num_workers: int, max_instances_in_memory: int
    ) -> None:
        random.seed(7)
        loader = MultiProcessDataLoader(
            BidafClozeReader(),
            data,
            batch_size=2,
            num_workers=num_workers,
            max_instances_in_memory=max_instances_in_memory,
            quiet=True,
        )
        loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
        epochs = []
        for _ in range(3):
            words: Dict[str, Any] = {}
            for batch in loader:
                for index, metadata in enumerate(batch["metadata"]):
                    words[metadata["id"]] = batch["passage"]["tokens"]["tokens"][index].tolist()
            assert sorted(words) == TINY_IDS
            epochs.append(words)
        for id in TINY_IDS:
            assert epochs[0][id] != epochs[1][id] != epochs[2][id] != epochs[0][id]


def test_a_mixed_folder_is_scored_over_all_questions(tmp_path: Path) -> None:
    for path in [*TINY_CLOZE.iterdir(), *UNANSWERABLE_CLOZE.iterdir()]:
        copy(path, tmp_path)
    instances = read(tmp_path, keep_unanswerable=True)
    tensors = as_tensors(instances, Vocabulary.from_instances(instances))
    assert sorted(tensors["answer_entity"].tolist()) == [-2, -2, 0, 0, 1, 1, 1, 3]
