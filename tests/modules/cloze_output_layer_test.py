from math import exp, log
from typing import Any, Dict, List, Optional

import pytest
import torch
from torch.overrides import TorchFunctionMode

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.modules.output_layers import OutputLayer
from bidaf_plugin.modules.output_layers.cloze_output_layer import ClozeOutputLayer
from bidaf_plugin.nn.entities import find_windows_of_batch

# Two articles with windows of three words. The second has one window, the other is padding.
ENTITY_IDS = torch.tensor([[[0, -1, 1], [-1, 0, -1]], [[1, 0, 0], [-1, -1, -1]]])
MASK = torch.tensor([[[1, 1, 1], [1, 1, 0]], [[1, 1, 1], [0, 0, 0]]]).bool()
# The score of each word of the three windows. Words that are no entities have large ones.
SCORES = torch.tensor([[1.0, 50.0, 2.0], [50.0, 3.0, 50.0], [0.5, 1.5, -1.0]])


def run(
    entity_ids: torch.Tensor = ENTITY_IDS,
    mask: torch.Tensor = MASK,
    scores: torch.Tensor = SCORES,
    answers: Optional[List[int]] = None,
    training: bool = False,
) -> Dict[str, torch.Tensor]:
    """The scores of the words are the only element of `G`; `M` has no weight."""
    layer = ClozeOutputLayer(query_aware_dim=1, modeled_dim=1, dropout=0.0).train(training)
    with torch.no_grad():
        layer._scorer.weight.copy_(torch.tensor([[1.0, 0.0]]))
        layer._scorer.bias.zero_()
    windows = find_windows_of_batch(mask)
    return layer(
        scores.unsqueeze(-1),
        torch.ones(*scores.size(), 1),
        mask.flatten(0, 1)[windows.indices],
        windows=windows,
        entity_ids=entity_ids,
        answer_entity=None if answers is None else torch.tensor(answers),
    )


class TestClozeOutputLayer:
    def test_is_registered(self) -> None:
        assert OutputLayer.by_name("cloze") is ClozeOutputLayer
        assert ClozeOutputLayer.reads_windows

    def test_probability_is_the_sum_over_all_mentions_in_all_windows(self) -> None:
        outputs = run()
        first = exp(1.0) + exp(2.0) + exp(3.0)
        second = exp(0.5) + exp(1.5) + exp(-1.0)
        torch.testing.assert_close(
            outputs["entity_log_probs"].exp(),
            torch.tensor(
                [
                    [(exp(1.0) + exp(3.0)) / first, exp(2.0) / first],
                    [(exp(1.5) + exp(-1.0)) / second, exp(0.5) / second],
                ]
            ),
        )
        assert outputs["best_entity"].tolist() == [0, 0]
        word_probs = outputs["word_probs"]
        assert word_probs.size() == ENTITY_IDS.size()
        # Words that are no entities, and padding, have nothing.
        assert not word_probs[ENTITY_IDS < 0].any()
        torch.testing.assert_close(word_probs.sum(dim=(1, 2)), torch.ones(2))
        assert word_probs[0, 1, 1].item() == pytest.approx(exp(3.0) / first)

    def test_loss_is_averaged_over_questions_with_an_answer_in_the_article(self) -> None:
        first = exp(1.0) + exp(2.0) + exp(3.0)
        second = exp(0.5) + exp(1.5) + exp(-1.0)
        losses = [-log(exp(2.0) / first), -log((exp(1.5) + exp(-1.0)) / second)]
        assert run(answers=[1, 0])["loss"].item() == pytest.approx(sum(losses) / 2)
        for unknown in (-1, -2):
            assert run(answers=[1, unknown])["loss"].item() == pytest.approx(losses[0])
            assert "loss" not in run(answers=[unknown, unknown])
        assert "loss" not in run()

    def test_training_without_any_answer_is_an_error(self) -> None:
        with pytest.raises(DataError, match="no question with its answer in the article"):
            run(answers=[-2, -1], training=True)

    def test_very_large_scores_give_finite_losses_and_gradients(self) -> None:
        scores = (SCORES * 1000).requires_grad_()
        loss = run(scores=scores, answers=[1, 1])["loss"]
        loss.backward()
        assert loss.item() == pytest.approx((1000 + 1000) / 2)
        assert scores.grad is not None and scores.grad.isfinite().all()
        # Nothing flows to words that are no entities.
        assert scores.grad[SCORES == 50].tolist() == [0, 0, 0]

    def test_an_article_without_entities_has_no_best_entity(self) -> None:
        entity_ids = ENTITY_IDS.clone()
        entity_ids[1] = -1
        outputs = run(entity_ids, answers=[0, -2])
        assert outputs["best_entity"].tolist() == [0, -1]
        assert outputs["loss"].isfinite()
        alone = run(entity_ids[1:], MASK[1:], SCORES[2:], answers=[-2])
        assert alone["best_entity"].tolist() == [-1]
        assert alone["entity_log_probs"].tolist() == [[-torch.inf]]

    def test_spans_are_of_the_text_whatever_its_blanks(self) -> None:
        layer = ClozeOutputLayer(query_aware_dim=1, modeled_dim=1)
        passage = "@entity4  met\u00a0@entity7 ,  @entity4"
        item = {
            "id": "7",
            "passage": passage,
            "candidates": ["@entity4", "@entity7"],
            "candidate_names": ["Ada", None],
            "window_starts": [0, 3],
        }
        outputs = {
            "entity_log_probs": torch.tensor([[0.3, 0.7]]).log(),
            "word_probs": torch.tensor([[[0.1, 0.0, 0.7], [0.0, 0.2, 0.0]]]),
        }
        readable = layer.make_output_human_readable(outputs, [item])
        assert readable["best_entity"] == ["@entity7"]
        assert readable["best_entity_name"] == [None]
        (candidates,) = readable["candidates"]
        for candidate in candidates:
            for mention in candidate["mentions"]:
                start, end = mention["characters"]
                assert passage[start:end] == candidate["entity"]
        assert [mention["word"] for mention in candidates[1]["mentions"]] == [0, 4]

    def test_mentions_are_grouped_once(self) -> None:
        num_compared = 0

        class CountingWord(str):
            __hash__ = str.__hash__

            def __eq__(self, other: object) -> bool:
                nonlocal num_compared
                num_compared += 1
                return str.__eq__(self, other)

        class CountingText(str):
            def split(self, *arguments: Any) -> List[str]:  # type: ignore[override]
                return [CountingWord(word) for word in str.split(self, *arguments)]

        entities = [f"@entity{number}" for number in range(50)]
        item = {
            "id": "7",
            "passage": CountingText(" ".join(entities)),
            "candidates": entities,
            "candidate_names": [None] * 50,
            "window_starts": [0],
        }
        outputs = {
            "entity_log_probs": torch.full((1, 50), 1 / 50).log(),
            "word_probs": torch.full((1, 1, 50), 1 / 50),
        }
        layer = ClozeOutputLayer(query_aware_dim=1, modeled_dim=1)
        (candidates,) = layer.make_output_human_readable(outputs, [item])["candidates"]
        assert [candidate["mentions"][0]["word"] for candidate in candidates] == list(range(50))
        # A few for each mention, not one for each pair of a mention and a candidate.
        assert num_compared < 50 * 5

    def test_a_batch_is_copied_from_the_gpu_once(self) -> None:
        copied: List[Any] = []

        class NotingCopies(TorchFunctionMode):
            def __torch_function__(
                self, function: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                if function is torch.Tensor.cpu:
                    copied.append(args[0].shape)
                return function(*args, **(kwargs or {}))

        passage = "@entity4 met @entity7"
        item = {
            "id": "7",
            "passage": passage,
            "candidates": ["@entity4", "@entity7"],
            "candidate_names": [None, None],
            "window_starts": [0],
        }
        outputs = {
            "entity_log_probs": torch.full((3, 2), 1 / 2).log(),
            # The second window is padding.
            "word_probs": torch.tensor([[[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]] * 3),
        }
        with NotingCopies():
            layer = ClozeOutputLayer(query_aware_dim=1, modeled_dim=1)
            layer.make_output_human_readable(outputs, [item] * 3)
        assert copied == [(3, 2), (3, 2, 3)]
