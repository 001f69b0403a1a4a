from itertools import islice
from pathlib import Path
from typing import List

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, DatasetReader, Instance, Token, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.dataset_readers.dataset_reader import WorkerInfo
from allennlp.data.tokenizers import WhitespaceTokenizer

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers import BidafSquadReader
from bidaf_plugin.data.dataset_readers.squad_json import GoldAnswer
from bidaf_plugin.training.metrics import exact_match
from tests.helpers import REAL_DATA, SAMPLE_V2, TINY_SQUAD, as_tensors, needs_real_data


def span_texts(instance: Instance) -> List[str]:
    """The gold spans, cut out of the passage by tokens."""
    metadata = instance["metadata"].metadata
    tokens = metadata["passage_tokens"]
    return [
        metadata["passage"][tokens[first].idx : tokens[last].idx_end]
        for first, last in instance["answer_spans"].array
    ]


class TestBidafSquadReader:
    def test_reads_fields_and_spans(self) -> None:
        instances = list(BidafSquadReader().read(TINY_SQUAD))
        assert [instance["metadata"]["id"] for instance in instances] == [
            f"tiny-{number}" for number in range(1, 6)
        ]
        assert [str(t) for t in instances[0]["question"].tokens] == [
            "Who",
            "planted",
            "the",
            "orchard",
            "?",
        ]
        for instance in instances:
            assert span_texts(instance) == instance["metadata"]["answers"]
        # "1855" is a word of its own in "1854–1855".
        assert span_texts(instances[1]) == ["1855"]

    def test_questions_of_a_paragraph_share_its_tokens(self) -> None:
        first, second, third, other, _ = BidafSquadReader().read(TINY_SQUAD)
        assert first["passage"] is second["passage"] is third["passage"]
        assert first["metadata"]["passage_tokens"] is second["passage"].tokens
        assert other["passage"] is not first["passage"]

    def test_limits_leave_out_questions_and_cut_passages(self) -> None:
        lengths = [len(i["passage"]) for i in BidafSquadReader().read(TINY_SQUAD)]
        cut = list(BidafSquadReader(max_passage_length=14).read(TINY_SQUAD))
        # tiny-1 "Marta Venn" (tokens 14, 15), tiny-3 (all) and tiny-4 end beyond the limit.
        assert [i["metadata"]["id"] for i in cut] == ["tiny-2"]
        assert max(lengths) > 14 >= max(len(i["passage"]) for i in cut)
        short = BidafSquadReader(max_question_length=5)
        assert [i["metadata"]["id"] for i in short.read(TINY_SQUAD)] == ["tiny-1"]

    def test_limits_do_not_touch_own_text(self) -> None:
        reader = BidafSquadReader(max_passage_length=2, max_question_length=2)
        instance = reader.text_to_instance("How many words are here?", "There are five words here.")
        assert len(instance["passage"]) == 6
        assert instance["answer_spans"].array.tolist() == [[-1, -1]]

    def test_own_text_may_have_answers(self) -> None:
        reader = BidafSquadReader()
        instance = reader.text_to_instance("Who?", "It was Ada.", "x", [GoldAnswer("Ada", 7)])
        assert instance["answer_spans"].array.tolist() == [[2, 2]]
        with pytest.raises(DataError, match="not inside"):
            reader.text_to_instance("Who?", "It was Ada.", "x", [GoldAnswer("Bob", 70)])

    def test_impossible_questions_are_told_from_those_without_known_answers(self) -> None:
        instances = list(BidafSquadReader().read(SAMPLE_V2))
        spans = [instance["answer_spans"].array.tolist() for instance in instances]
        answers = [instance["metadata"]["answers"] for instance in instances]
        assert [[-2, -2]] in spans and [[-1, -1]] not in spans
        for span, texts in zip(spans, answers, strict=True):
            assert (span == [[-2, -2]]) == (texts == [])
        reader = BidafSquadReader()
        own_text = reader.text_to_instance("Who?", "It was Ada.", is_impossible=True)
        assert own_text["answer_spans"].array.tolist() == [[-2, -2]]

    @pytest.mark.parametrize("question, passage", [("", "a b"), ("Who?", " \n ")])
    def test_empty_text_is_refused(self, question: str, passage: str) -> None:
        with pytest.raises(DataError, match="empty"):
            BidafSquadReader().text_to_instance(question, passage)

    def test_an_answer_inside_a_word_takes_the_whole_word(self) -> None:
        instance = BidafSquadReader().text_to_instance(
            "?",
            "He was the fourteenth king",
            answers=[GoldAnswer("fourteen", 11), GoldAnswer(" king", 21)],
        )
        assert span_texts(instance) == ["fourteenth", "king"]

    def test_workers_share_the_paragraphs_out(self) -> None:
        ids = []
        for worker in range(2):
            reader = BidafSquadReader()
            reader._set_worker_info(WorkerInfo(2, worker))
            instances = list(reader.read(TINY_SQUAD))
            assert all(i["passage"]._token_indexers is None for i in instances)
            ids.append([i["metadata"]["id"] for i in instances])
        assert ids == [["tiny-1", "tiny-2", "tiny-3", "tiny-5"], ["tiny-4"]]

    def test_loads_with_several_processes(self) -> None:
        loader: DataLoader = MultiProcessDataLoader(
            BidafSquadReader(), str(TINY_SQUAD), batch_size=5, num_workers=2, quiet=True
        )
        instances = list(loader.iter_instances())
        loader.index_with(Vocabulary.from_instances(instances))
        (batch,) = loader
        assert sorted(item["id"] for item in batch["metadata"]) == [
            f"tiny-{number}" for number in range(1, 6)
        ]

    @pytest.mark.parametrize("name", ["whitespace", "just_spaces", "letters_digits", "ptb"])
    def test_other_tokenizers_and_indexers(self, name: str) -> None:
        indexers = {
            "tokens": {"type": "single_id"},
            "token_characters": {"type": "characters", "min_padding_length": 3},
        }
        params = {"type": "bidaf_squad", "tokenizer": {"type": name}, "token_indexers": indexers}
        reader = DatasetReader.from_params(Params(params))
        instances = list(reader.read(TINY_SQUAD))
        for instance in instances:
            for text, answer in zip(
                span_texts(instance), instance["metadata"]["answers"], strict=True
            ):
                # Words may have a comma behind them.
                assert answer in text
        batch = as_tensors(instances, Vocabulary.from_instances(instances))
        num_tokens = max(len(instance["passage"]) for instance in instances)
        assert batch["passage"]["tokens"]["tokens"].shape == (5, num_tokens)
        assert batch["passage"]["token_characters"]["token_characters"].dim() == 3
        # The same by hand.
        by_hand = reader.text_to_instance(
            "Who?", "It was Ada, and Bob.", None, [GoldAnswer("Bob", 16)]
        )
        assert "Bob" in span_texts(by_hand)[0]

    def test_a_tokenizer_that_changes_words_is_refused(self) -> None:
        class LowerCase(WhitespaceTokenizer):
            def tokenize(self, text: str) -> List[Token]:
                return super().tokenize(text.lower())

        with pytest.raises(ConfigurationError, match="'orchard' of .*left as they are"):
            list(BidafSquadReader(LowerCase()).read(TINY_SQUAD))

    def test_a_cache_folder_of_earlier_configs_has_no_effect(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        for folder, num_warnings in ((None, 0), (str(tmp_path / "cache"), 1)):
            params = Params({"type": "bidaf_squad", "cache_dir": folder})
            assert len(list(DatasetReader.from_params(params).read(TINY_SQUAD))) == 5
            assert caplog.text.count("cache_dir has no effect any more") == num_warnings
        assert not list(tmp_path.iterdir())

    def test_max_instances(self) -> None:
        assert len(list(BidafSquadReader(max_instances=2).read(TINY_SQUAD))) == 2

    @needs_real_data
    @pytest.mark.parametrize(
        "split, num_questions, least_share", [("dev", 10_570, 0.997), ("train", 87_599, 0.9925)]
    )
    def test_whole_squad(self, split: str, num_questions: int, least_share: float) -> None:
        assert REAL_DATA is not None
        num_read = num_right = 0
        for instance in BidafSquadReader().read(REAL_DATA / "squad" / f"{split}-v1.1.json.gz"):
            answers = instance["metadata"]["answers"]
            num_read += 1
            num_right += any(exact_match(span_texts(instance)[0], answer) for answer in answers)
        print(f"{split}: {num_read} questions, gold spans with EM 1: {num_right / num_read:.4%}")
        assert num_read == num_questions
        assert num_right / num_read >= least_share

    @needs_real_data
    def test_shared_passages_save_memory(self) -> None:
        assert REAL_DATA is not None
        instances = list(
            islice(BidafSquadReader().read(REAL_DATA / "squad" / "dev-v1.1.json.gz"), 2_000)
        )
        assert len({id(instance["passage"]) for instance in instances}) < len(instances) / 3
