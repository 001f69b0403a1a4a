from typing import List, Tuple

import numpy
import pytest
import torch

from bidaf_plugin.nn.entities import (
    best_entities,
    entity_log_probabilities,
    entity_loss,
    find_windows_of_batch,
    segment_logsumexp,
)

NUM_EXAMPLES, NUM_ENTITIES = 5, 4


def random_batch(seed: int) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Logits, entities and examples of 12 windows of 7 words; example 3 has no window."""
    generator = torch.Generator().manual_seed(seed)
    logits = 5 * torch.randn(12, 7, generator=generator, dtype=torch.float64)
    entity_ids = torch.randint(-1, NUM_ENTITIES, (12, 7), generator=generator)
    example_of_window = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 4, 4])
    # Example 2 lacks entity 1, example 4 has no entity at all.
    entity_ids[5:10][entity_ids[5:10] == 1] = -1
    entity_ids[10:] = -1
    return logits, entity_ids, example_of_window


def by_brute_force(
    logits: numpy.ndarray, entity_ids: numpy.ndarray, example_of_window: numpy.ndarray
) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """Probabilities of words and of entities, word by word."""
    word_probs = numpy.zeros(logits.shape)
    entity_probs = numpy.zeros((NUM_EXAMPLES, NUM_ENTITIES))
    for example in range(NUM_EXAMPLES):
        places: List[Tuple[int, int]] = [
            (window, word)
            for window in range(logits.shape[0])
            for word in range(logits.shape[1])
            if example_of_window[window] == example and entity_ids[window, word] >= 0
        ]
        total = sum(numpy.exp(logits[place]) for place in places)
        for place in places:
            word_probs[place] = numpy.exp(logits[place]) / total
            entity_probs[example, entity_ids[place]] += word_probs[place]
    return word_probs, entity_probs


class TestEntityLogProbabilities:
    @pytest.mark.parametrize("seed", range(5))
    def test_against_brute_force(self, seed: int) -> None:
        batch = random_batch(seed)
        found = entity_log_probabilities(*batch, NUM_EXAMPLES, NUM_ENTITIES)
        word_probs, entity_probs = by_brute_force(*(tensor.numpy() for tensor in batch))
        numpy.testing.assert_allclose(found.word_log_probs.exp().numpy(), word_probs, atol=1e-12)
        numpy.testing.assert_allclose(
            found.entity_log_probs.exp().numpy(), entity_probs, atol=1e-12
        )
        numpy.testing.assert_allclose(entity_probs.sum(axis=1), [1, 1, 1, 0, 0], atol=1e-12)
        assert not found.entity_log_probs.isnan().any()

    def test_large_logits(self) -> None:
        entity_ids = torch.tensor([[0, 1, -1], [0, -1, -1]])
        examples = torch.tensor([0, 0])
        for shift in (-1e38, -1e4, 0.0, 1e4, 1e38):
            logits = torch.tensor([[shift, shift, 1e38], [shift, 1e38, -1e38]])
            log_probs = entity_log_probabilities(logits, entity_ids, examples, 1, 2)
            expected = torch.tensor([[2 / 3, 1 / 3]])
            torch.testing.assert_close(log_probs.entity_log_probs.exp(), expected)

    def test_half_precision_is_computed_in_single(self) -> None:
        logits, entity_ids, examples = random_batch(0)
        halves = logits.to(torch.bfloat16)
        found = entity_log_probabilities(halves, entity_ids, examples, NUM_EXAMPLES, NUM_ENTITIES)
        expected = entity_log_probabilities(
            halves.float(), entity_ids, examples, NUM_EXAMPLES, NUM_ENTITIES
        )
        assert found.entity_log_probs.dtype == torch.float32
        assert torch.equal(found.entity_log_probs, expected.entity_log_probs)

    def test_renaming_entities_permutes_their_probabilities(self) -> None:
        logits, entity_ids, examples = random_batch(1)
        permutation = torch.tensor([2, 0, 3, 1])
        renamed = torch.where(entity_ids >= 0, permutation[entity_ids.clamp(min=0)], -1)
        found = entity_log_probabilities(logits, renamed, examples, NUM_EXAMPLES, NUM_ENTITIES)
        plain = entity_log_probabilities(logits, entity_ids, examples, NUM_EXAMPLES, NUM_ENTITIES)
        torch.testing.assert_close(found.entity_log_probs[:, permutation], plain.entity_log_probs)

    def test_gradients(self) -> None:
        logits, entity_ids, examples = random_batch(2)
        answers = torch.tensor([1, 3, 0, -2, -1])

        def loss(values: torch.Tensor) -> torch.Tensor:
            log_probs = entity_log_probabilities(
                values, entity_ids, examples, NUM_EXAMPLES, NUM_ENTITIES
            )
            return entity_loss(log_probs.entity_log_probs, answers)

        logits.requires_grad_()
        assert torch.autograd.gradcheck(loss, (logits,))
        (gradient,) = torch.autograd.grad(loss(logits), logits)
        assert gradient.isfinite().all()
        assert (gradient[entity_ids < 0] == 0).all()
        # d loss / d logit = (p(word) - p(word | answer)) / number of examples with an answer.
        word_probs, entity_probs = by_brute_force(
            logits.detach().numpy(), entity_ids.numpy(), examples.numpy()
        )
        window, word = (int(index) for index in (entity_ids[:3] == 1).nonzero()[0])
        expected = word_probs[window, word] * (1 - 1 / entity_probs[0, 1]) / 3
        assert gradient[window, word].item() == pytest.approx(expected)


class TestEntityLoss:
    def test_is_the_mean_over_examples_with_an_answer(self) -> None:
        log_probs = torch.tensor([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]]).log()
        loss = entity_loss(log_probs, torch.tensor([0, 1, -2]))
        expected = -(numpy.log(0.5) + numpy.log(0.75)) / 2
        assert loss.item() == pytest.approx(expected)

    def test_without_answers_it_is_zero(self) -> None:
        log_probs = torch.tensor([[0.5, 0.5]]).log().requires_grad_()
        loss = entity_loss(log_probs, torch.tensor([-1]))
        loss.backward()
        assert loss.item() == 0
        assert log_probs.grad is not None and not log_probs.grad.any()


class TestSmallFunctions:
    def test_best_entities(self) -> None:
        log_probs = torch.tensor([[0.2, 0.8], [1.0, 0.0], [0.0, 0.0]]).log()
        assert best_entities(log_probs).tolist() == [1, 0, -1]

    def test_segment_logsumexp(self) -> None:
        values = torch.tensor([0.0, 1.0, 2.0, -torch.inf])
        found = segment_logsumexp(values, torch.tensor([2, 0, 2, 3]), 4)
        expected = [1.0, -numpy.inf, numpy.log(1 + numpy.exp(2)), -numpy.inf]
        numpy.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)

    def test_find_windows_of_batch(self) -> None:
        mask = torch.tensor(
            [
                [[True, True], [True, False], [False, False]],
                [[False, False], [False, False], [False, False]],
                [[True, True], [True, True], [True, True]],
            ]
        )
        window_indices, example_of_window = find_windows_of_batch(mask)
        assert window_indices.tolist() == [0, 1, 6, 7, 8]
        assert example_of_window.tolist() == [0, 0, 2, 2, 2]
        assert mask.flatten(0, 1)[window_indices].any(dim=-1).all()
