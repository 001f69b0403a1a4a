import json
import pickle

import pytest
from allennlp.common.util import sanitize

from bidaf_plugin.data.dataset_readers.squad_instances import QuestionMetadata
from bidaf_plugin.data.tokenizers import PtbTokenizer

QUESTION, PASSAGE = "Who?", "It was Ada."


@pytest.fixture
def metadata() -> QuestionMetadata:
    question_tokens, passage_tokens = PtbTokenizer().batch_tokenize([QUESTION, PASSAGE])
    return QuestionMetadata("7", QUESTION, PASSAGE, question_tokens, passage_tokens, ["Ada"])


class TestQuestionMetadata:
    def test_is_a_mapping(self, metadata: QuestionMetadata) -> None:
        assert metadata["id"] == "7"
        assert metadata["passage_tokens"] is metadata.passage_tokens
        assert metadata.get("nothing") is None
        assert {**metadata}["answers"] == ["Ada"]
        assert len(metadata) == 6
        with pytest.raises(KeyError):
            metadata["changed"]

    def test_becomes_json_with_words_for_tokens(self, metadata: QuestionMetadata) -> None:
        sanitized = sanitize([metadata])[0]
        assert sanitized["passage_tokens"] == ["It", "was", "Ada", "."]
        assert json.loads(json.dumps(sanitized))["question"] == QUESTION

    def test_passes_between_processes(self, metadata: QuestionMetadata) -> None:
        received = pickle.loads(pickle.dumps(metadata))
        assert sanitize(received) == sanitize(metadata)

    def test_values_can_be_replaced(self, metadata: QuestionMetadata) -> None:
        assert metadata.changed(answers=["It"]).answers == ["It"]
        assert metadata.answers == ["Ada"]
