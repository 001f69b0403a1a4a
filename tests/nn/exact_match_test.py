import torch
from allennlp.data import Batch, Instance, TextFieldTensors

from bidaf_plugin.nn.exact_match import mark_alone, mark_matches
from tests.helpers import build_model, read_tiny, tiny_params


def text(*words: list[int]) -> TextFieldTensors:
    return {"exact_match": {"tokens": torch.tensor([words])}, "tokens": {"tokens": torch.ones(1)}}


class TestMarkMatches:
    def test_each_form_that_the_other_text_has_counts(self) -> None:
        question = text([1, 2, 3], [10, 5, 6], [0, 0, 0])
        passage = text([1, 2, 3], [11, 5, 6], [12, 13, 6], [20, 21, 22], [0, 0, 0], [0, 0, 0])
        marked_question, marked_passage = mark_matches(question, passage)
        assert marked_passage["exact_match"]["tokens"].tolist() == [[8, 4, 2, 1, 0, 0]]
        assert marked_question["exact_match"]["tokens"].tolist() == [[8, 4, 0]]
        # What was given stays as it was.
        assert question["exact_match"]["tokens"].dim() == 3
        assert marked_question["tokens"] is question["tokens"]

    def test_texts_without_forms_stay_as_they_are(self) -> None:
        texts: list[TextFieldTensors] = [
            {"tokens": {"tokens": torch.ones(1, 2)}, "c": {"token_characters": torch.ones(1, 2, 3)}}
            for _ in range(2)
        ]
        assert mark_matches(texts[0], texts[1]) == (texts[0], texts[1])
        assert mark_alone(texts[0]) is texts[0]

    def test_a_text_alone_has_no_match(self) -> None:
        marked = mark_alone(text([1, 2, 3], [0, 0, 0]))
        assert marked["exact_match"]["tokens"].tolist() == [[1, 0]]


class TestModel:
    """The tiny experiment with `exact_match:: true`."""

    def setup_method(self) -> None:
        self.instances = read_tiny(tiny_params("exact_match:: true"))
        self.model = build_model(tiny_params("exact_match:: true"), self.instances)

    def start_logits(self, instances: list[Instance]) -> torch.Tensor:
        batch = Batch(instances)
        batch.index_instances(self.model.vocab)
        with torch.no_grad():
            return self.model(**batch.as_tensor_dict())["span_start_logits"]

    def test_neither_batch_nor_padding_changes_an_answer(self) -> None:
        together = self.start_logits(self.instances)
        for row, instance in enumerate(self.instances):
            alone = self.start_logits([instance])[0]
            torch.testing.assert_close(together[row, : len(alone)], alone)

    def test_the_marks_reach_the_answer_and_are_learned(self) -> None:
        before = self.start_logits(self.instances)
        embedder = self.model._text_field_embedder.token_embedder_exact_match
        batch = Batch(self.instances)
        self.model(**batch.as_tensor_dict())["loss"].backward()
        assert embedder.weight.grad[1:].any() and not embedder.weight.grad[0].any()
        torch.nn.init.zeros_(embedder.weight)
        assert not torch.allclose(before, self.start_logits(self.instances))
