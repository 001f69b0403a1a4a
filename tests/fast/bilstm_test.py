import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from typing import List, Tuple

import pytest
import torch

from bidaf_plugin.fast import bilstm, native, products
from bidaf_plugin.fast.bilstm import can_run
from bidaf_plugin.modules.seq2seq_encoders import UnpackedLstmEncoder
from bidaf_plugin.nn.concatenation import concatenate, mix, take
from tests.native import native_only

pytestmark = native_only

Lstms = Tuple[torch.nn.LSTM, torch.nn.LSTM]


def make_lstms(input_size: int, hidden_size: int, dtype: torch.dtype = torch.double) -> Lstms:
    lstms = (torch.nn.LSTM(input_size, hidden_size, batch_first=True).to(dtype) for _ in range(2))
    return tuple(lstms)  # type: ignore[return-value]


def run_layer(
    forward_lstm: torch.nn.LSTM,
    backward_lstm: torch.nn.LSTM,
    inputs: torch.Tensor,
    mask: torch.Tensor,
) -> torch.Tensor:
    """Of inputs in one term, without dropout."""
    return bilstm.run_layer(forward_lstm, backward_lstm, [inputs], mask)


def make_mask(lengths: List[int]) -> torch.Tensor:
    return torch.arange(max(lengths)).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)


def parameters(lstms: Lstms) -> List[torch.nn.Parameter]:
    return [parameter for lstm in lstms for parameter in lstm.parameters()]


def expected_outputs(lstms: Lstms, inputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """What torch's kernels make of each sequence alone."""
    outputs = []
    for sequence, length in zip(inputs, mask.sum(dim=1).tolist(), strict=True):
        # Shape: (1, length, input_size)
        words = sequence[:length].unsqueeze(0)
        forward, _ = lstms[0](words)
        backward, _ = lstms[1](words.flip(1))
        # Shape: (length, 2 * hidden_size)
        joined = torch.cat([forward, backward.flip(1)], dim=-1).squeeze(0)
        outputs.append(torch.nn.functional.pad(joined, (0, 0, 0, mask.size(1) - length)))
    return torch.stack(outputs)


class TestRunLayer:
    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.lstms = make_lstms(3, 5)
        self.mask = make_mask([6, 2, 1, 4])
        self.inputs = torch.randn(4, 6, 3, dtype=torch.double, requires_grad=True)

    def test_random_sizes_lengths_and_threads_against_torch(self, kept_num_threads: None) -> None:
        """A thousand of them: `make test-long`."""
        for number in range(int(os.environ.get("BIDAF_RANDOM_CASES", 40))):
            torch.manual_seed(number)
            batch_size, length, hidden_size = (
                int(torch.randint(1, limit, (1,))) for limit in (20, 12, 70)
            )
            torch.set_num_threads(int(torch.randint(1, 5, (1,))))
            dtype = (torch.float32, torch.float64)[number % 2]
            tolerance = 2e-5 if dtype == torch.float32 else 1e-12
            lstms = make_lstms(4, hidden_size, dtype)
            mask = make_mask(torch.randint(1, length + 1, (batch_size,)).tolist())
            inputs = torch.randn(*mask.shape, 4, dtype=dtype, requires_grad=True)
            weighting = torch.randn(*mask.shape, 2 * hidden_size, dtype=dtype)
            outputs, gradients = [], []
            for run in (run_layer, lambda *a: expected_outputs(a[:2], *a[2:])):
                output = run(*lstms, inputs, mask)
                outputs.append(output)
                gradients.append(
                    torch.autograd.grad((output * weighting).sum(), [inputs, *parameters(lstms)])
                )
            torch.testing.assert_close(*outputs, atol=tolerance, rtol=tolerance)
            for ours, theirs in zip(*gradients, strict=True):
                torch.testing.assert_close(ours, theirs, atol=10 * tolerance, rtol=10 * tolerance)

    def test_gradients_are_those_of_finite_differences(self) -> None:
        assert torch.autograd.gradcheck(
            lambda inputs, *_: run_layer(*self.lstms, inputs, self.mask),
            (self.inputs, *parameters(self.lstms)),
        )

    def test_a_sequence_alone_is_the_same_to_the_last_bit(self, kept_num_threads: None) -> None:
        lstms = make_lstms(3, 37, torch.float32)
        mask = make_mask([9, 2, 1, 7, 9, 9, 5, 3, 8])
        inputs = torch.randn(9, 9, 3)
        # The product with the input is a library's, which sums as it likes: the recurrence alone.
        for lstm in lstms:
            lstm.get_parameter("weight_ih_l0").data.zero_()
        for num_threads in (1, 2, 4):
            torch.set_num_threads(num_threads)
            together = run_layer(*lstms, inputs, mask)
            for row, length in enumerate(mask.sum(dim=1).tolist()):
                alone = run_layer(
                    *lstms, inputs[row : row + 1, :length], mask[row : row + 1, :length]
                )
                assert torch.equal(alone[0], together[row, :length])

    def test_padding_is_zero_and_gets_no_gradient(self) -> None:
        output = run_layer(*self.lstms, self.inputs, self.mask)
        assert not output[~self.mask].any()
        output.sum().backward()
        assert self.inputs.grad is not None
        assert not self.inputs.grad[~self.mask].any()
        assert self.inputs.grad[self.mask].any(dim=1).all()

    def test_values_are_the_same_with_and_without_gradients(self) -> None:
        with torch.no_grad():
            without = run_layer(*self.lstms, self.inputs, self.mask)
        assert torch.equal(without, run_layer(*self.lstms, self.inputs, self.mask))

    def test_no_two_gradients_share_memory(self) -> None:
        run_layer(*self.lstms, self.inputs, self.mask).sum().backward()
        gradients = [parameter.grad for parameter in parameters(self.lstms)]
        assert len({g.untyped_storage().data_ptr() for g in gradients if g is not None}) == 8

    def test_clipping_accumulation_and_gradients_kept_in_place_are_as_with_torch(self) -> None:
        results = []
        for run in (run_layer, lambda *a: expected_outputs(a[:2], *a[2:])):
            for parameter in parameters(self.lstms):
                parameter.grad = None
            for _ in range(3):
                # In place: the zeros of the second round are those of the first.
                for parameter in parameters(self.lstms):
                    if parameter.grad is not None:
                        parameter.grad.zero_()
                for _ in range(2):
                    run(*self.lstms, self.inputs, self.mask).square().sum().backward()
                torch.nn.utils.clip_grad_norm_(parameters(self.lstms), 0.1)
            results.append([parameter.grad.clone() for parameter in parameters(self.lstms)])  # type: ignore[union-attr]
        for ours, theirs in zip(*results, strict=True):
            torch.testing.assert_close(ours, theirs)

    def test_two_backward_passes_give_twice_the_gradient(self) -> None:
        output = run_layer(*self.lstms, self.inputs, self.mask).sum()
        output.backward(retain_graph=True)
        once = [parameter.grad.clone() for parameter in parameters(self.lstms)]  # type: ignore[union-attr]
        output.backward()
        for parameter, gradient in zip(parameters(self.lstms), once, strict=True):
            torch.testing.assert_close(parameter.grad, 2 * gradient)

    def test_second_derivatives_are_refused_and_not_wrong(self) -> None:
        output = run_layer(*self.lstms, self.inputs, self.mask)
        with pytest.raises(RuntimeError, match="no second derivatives"):
            torch.autograd.grad(output.sum(), [self.inputs], create_graph=True)

    def test_a_weight_that_has_changed_since_is_noticed(self) -> None:
        inputs = self.inputs.clone()
        output = run_layer(*self.lstms, inputs, self.mask)
        inputs.data.zero_()
        inputs.detach().add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            output.sum().backward()

    def test_what_is_not_a_number_comes_out_again(self) -> None:
        with torch.no_grad():
            self.inputs[0, 2, 1] = float("nan")
        output = run_layer(*self.lstms, self.inputs, self.mask)
        assert output[0].isnan().any() and not output[1:].isnan().any()

    def test_large_inputs_saturate(self) -> None:
        for size in (1e3, 1e30):
            output = run_layer(*self.lstms, self.inputs * size, self.mask)
            expected = expected_outputs(self.lstms, self.inputs * size, self.mask)
            torch.testing.assert_close(output, expected)

    def test_several_python_threads_at_once(self) -> None:
        expected = run_layer(*self.lstms, self.inputs, self.mask)
        with ThreadPoolExecutor(4) as threads:
            jobs = [
                threads.submit(run_layer, *self.lstms, self.inputs, self.mask) for _ in range(50)
            ]
            assert all(torch.equal(job.result(), expected) for job in jobs)

    def test_a_forked_process_does_not_wait_for_threads_it_has_not(
        self, kept_num_threads: None
    ) -> None:
        torch.set_num_threads(2)
        with torch.no_grad():
            expected = run_layer(*self.lstms, self.inputs, self.mask)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(
            target=_run_in_child, args=(self.lstms, self.inputs.detach(), self.mask, queue)
        )
        process.start()
        outputs = torch.tensor(queue.get(timeout=60), dtype=torch.double)
        process.join(timeout=60)
        assert process.exitcode == 0
        torch.testing.assert_close(outputs, expected)


def _run_in_child(lstms: Lstms, inputs: torch.Tensor, mask: torch.Tensor, queue: object) -> None:
    # torch's own operations would wait for threads with more than one; the kernel looks itself.
    torch.set_num_threads(1)
    with torch.no_grad():
        queue.put(run_layer(*lstms, inputs, mask).tolist())  # type: ignore[attr-defined]


class TestTermsAndDropout:
    """What is read is a concatenation, of which some is dropped."""

    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.lstms = make_lstms(6, 5)
        self.mask = make_mask([6, 2, 1, 4, 6])
        sizes = ((5, 6, 3), (5, 1, 2), (5, 6, 1))
        self.terms = [torch.randn(*s, dtype=torch.double, requires_grad=True) for s in sizes]

    def run(self, *terms: torch.Tensor, is_by_text: bool = False) -> torch.Tensor:
        torch.manual_seed(1)
        return bilstm.run_layer(*self.lstms, terms, self.mask, 0.5, is_by_text=is_by_text)

    def factors(self, is_by_text: bool = False) -> torch.Tensor:
        """What the seed of `run` multiplies the inputs with."""
        torch.manual_seed(1)
        inputs = bilstm._Inputs(
            [torch.ones(5, 6, 6, dtype=torch.double)], bilstm.DropoutMask.draw(0.5, is_by_text)
        )
        factors = torch.zeros(5, 6, 6, dtype=torch.double)
        for group in bilstm._divide(self.mask):
            words = inputs.gather(group)[: group.num_words].split(group.lengths.tolist())
            for passage, rows in zip(group.passages.tolist(), words, strict=True):
                factors[passage, : len(rows)] = rows
        return factors

    @pytest.mark.parametrize("is_by_text", [False, True])
    @pytest.mark.parametrize("words_of_group", [1, 7, 1000])
    def test_values_and_gradients_are_those_of_the_dropped_concatenation(
        self, words_of_group: int, is_by_text: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bilstm, "_WORDS_OF_GROUP", words_of_group)
        factors = self.factors(is_by_text)
        is_same = (factors == factors[:, :1])[self.mask].all()
        assert is_same == is_by_text
        assert set(factors[self.mask].unique().tolist()) == {0.0, 2.0}
        concatenated = torch.cat([term.expand(-1, 6, -1) for term in self.terms], dim=-1)
        outputs = [
            self.run(*self.terms, is_by_text=is_by_text),
            expected_outputs(self.lstms, concatenated * factors, self.mask),
        ]
        torch.testing.assert_close(*outputs)
        weighting = torch.randn_like(outputs[0])
        gradients = [
            torch.autograd.grad((output * weighting).sum(), [*self.terms, *parameters(self.lstms)])
            for output in outputs
        ]
        for ours, theirs in zip(*gradients, strict=True):
            torch.testing.assert_close(ours, theirs)

    def test_gradients_are_those_of_finite_differences(self) -> None:
        assert torch.autograd.gradcheck(lambda *terms: self.run(*terms[:3]), self.terms)

    def test_terms_that_lie_in_memory_in_another_order(self) -> None:
        turned = [term.detach().transpose(0, 2).contiguous().transpose(0, 2) for term in self.terms]
        assert not turned[0].is_contiguous()
        assert torch.equal(self.run(*turned), self.run(*self.terms))

    def test_two_backward_passes_give_twice_the_gradient(self) -> None:
        output = self.run(*self.terms).sum()
        output.backward(retain_graph=True)
        once = [term.grad.clone() for term in self.terms]  # type: ignore[union-attr]
        output.backward()
        for term, gradient in zip(self.terms, once, strict=True):
            torch.testing.assert_close(term.grad, 2 * gradient)

    @pytest.mark.parametrize("is_taken", [True, False])
    @pytest.mark.parametrize("is_mixed", [True, False])
    @pytest.mark.parametrize("words_of_group", [1, 1000])
    def test_products_are_saved_where_words_have_something_in_common(
        self, is_taken: bool, is_mixed: bool, words_of_group: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bilstm, "_FEW_WORDS", 0)
        monkeypatch.setattr(bilstm, "_WORDS_OF_GROUP", words_of_group)
        own, common, first, mixed = (
            torch.randn(*size, dtype=torch.double)
            for size in ((5, 6, 1), (5, 1, 2), (5, 6, 2), (5, 6, 1))
        )
        if is_taken:
            # The first three passages are the same, and so are the others.
            first = take(first[[1, 4]], torch.tensor([0, 0, 0, 1, 1]))
        if is_mixed:
            weights = torch.randn(5, 6, 3, dtype=torch.double)
            # As of questions with padding.
            weights[2:, :, 1] = 0.0
            mixed = mix(weights, torch.randn(5, 3, 1, dtype=torch.double))
        terms = [own, common, first, mixed]
        saved = bilstm._save_products(terms, torch.ones(40, 6).double(), self.mask)
        assert saved.common is not None
        assert (saved.shared is not None) == is_taken
        assert (saved.mixed is not None) == is_mixed
        assert sum(term.size(-1) for term in saved.terms) == 4 - 2 * is_taken - is_mixed
        assert saved.input_weight.size(1) == sum(term.size(-1) for term in saved.terms)
        with torch.no_grad():
            output = bilstm.run_layer(*self.lstms, terms, self.mask)
            expected = expected_outputs(self.lstms, concatenate(terms), self.mask)
        torch.testing.assert_close(output, expected)

    def test_nothing_is_saved_where_nothing_else_would_be_left(self) -> None:
        taken = take(torch.randn(1, 6, 3), torch.zeros(5, dtype=torch.long))
        terms = [taken, torch.randn(5, 1, 3)]
        saved = bilstm._save_products(terms, torch.ones(40, 6), self.mask)
        assert saved.terms is terms and saved.shared is None

    def test_few_words_and_many_give_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for batch in (slice(0, 5), slice(0, 1), slice(2, 3)):
            terms, mask = [term.detach()[batch] for term in self.terms], self.mask[batch]
            outputs = []
            for limit in (0, 1024):
                monkeypatch.setattr(bilstm, "_FEW_WORDS", limit)
                with torch.no_grad():
                    outputs.append(bilstm.run_layer(*self.lstms, terms, mask))
            torch.testing.assert_close(*outputs)
            assert not outputs[1][~mask].any()

    def test_a_batch_without_a_word_is_zero(self) -> None:
        nothing = torch.zeros(5, 6, dtype=torch.bool)
        assert not bilstm.run_layer(*self.lstms, self.terms, nothing).any()


class TestPrepare:
    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.encoder = UnpackedLstmEncoder(12, 20, num_layers=2).eval()
        self.inputs, self.mask = torch.randn(1, 9, 12), make_mask([9])

    def run(self) -> torch.Tensor:
        with torch.no_grad():
            return self.encoder([self.inputs[..., :5], self.inputs[..., 5:]], self.mask)

    def test_prepared_weights_give_the_same(self) -> None:
        expected = self.run()
        self.encoder.prepare()
        assert self.encoder._prepared is not None
        torch.testing.assert_close(self.run(), expected)
        self.encoder.double()
        self.inputs = self.inputs.double()
        torch.testing.assert_close(self.run(), expected.double())

    @pytest.mark.parametrize("index", range(8))
    def test_a_weight_that_has_changed_since_is_noticed(self, index: int) -> None:
        self.encoder.prepare()
        before = self.run()
        with torch.no_grad():
            list(self.encoder.parameters())[index].add_(0.5)
        after = self.run()
        assert not torch.allclose(after, before)
        self.encoder._prepared = None
        torch.testing.assert_close(after, self.run())

    def test_training_prepares_anew(self) -> None:
        self.encoder.prepare()
        before = self.run()
        self.encoder.train()
        # As AllenNLP's moving average does, which torch does not count as a change.
        for parameter in self.encoder.parameters():
            parameter.data.mul_(0.5)
        self.encoder.eval()
        assert not torch.allclose(self.run(), before)

    def test_gradients_do_not_come_from_prepared_weights(self) -> None:
        gradients = []
        for _ in range(2):
            outputs = self.encoder(self.inputs, self.mask)
            gradients.append(torch.autograd.grad(outputs.sum(), list(self.encoder.parameters())))
            self.encoder.prepare()
        assert all(map(torch.equal, *gradients))


class TestMixedPrecision:
    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.lstms = make_lstms(40, 30, torch.float32)
        self.mask = make_mask([9, 5, 7])
        self.inputs = torch.randn(3, 9, 40, requires_grad=True)

    def gradients(self) -> List[torch.Tensor]:
        output = run_layer(*self.lstms, self.inputs, self.mask)
        assert output.dtype == torch.float32
        return list(
            torch.autograd.grad(output.square().sum(), [self.inputs, *parameters(self.lstms)])
        )

    def test_gradients_are_those_of_full_precision_to_two_digits(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Processors without the instructions can do it as well, only slowly.
        monkeypatch.setattr(products, "multiplies_bfloat16", lambda: True)
        full = self.gradients()
        with products.mixed_precision():
            mixed = self.gradients()
        for of_full, of_mixed in zip(full, mixed, strict=True):
            assert of_mixed.dtype == torch.float32 and not torch.equal(of_mixed, of_full)
            assert (of_mixed - of_full).norm() < 0.02 * of_full.norm()
        assert all(map(torch.equal, self.gradients(), full))

    def test_evaluation_keeps_its_precision(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(products, "multiplies_bfloat16", lambda: True)
        with torch.no_grad():
            expected = run_layer(*self.lstms, self.inputs, self.mask)
            with products.mixed_precision():
                assert torch.equal(run_layer(*self.lstms, self.inputs, self.mask), expected)

    def test_where_the_processor_is_not_faster_nothing_changes(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(products, "multiplies_bfloat16", lambda: False)
        full = self.gradients()
        with products.mixed_precision():
            assert all(map(torch.equal, self.gradients(), full))


class TestCanRun:
    def test_other_types_and_sizes_are_for_torch(self) -> None:
        assert can_run(torch.zeros(1, 2, 3)) and can_run(torch.zeros(1, 2, 3).double())
        assert not can_run(torch.zeros(1, 2, 3).half())
        assert not can_run(torch.zeros(0, 2, 3))
        assert not can_run(torch.zeros(1, 2, 3, device="meta"))
        with torch.autocast("cpu", torch.bfloat16):
            assert not can_run(torch.zeros(1, 2, 3))


class TestLibrary:
    def test_every_kind_of_processor_computes_the_same(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        torch.manual_seed(0)
        lstms, mask = make_lstms(3, 21, torch.float32), make_mask([7, 3, 5])
        inputs = torch.randn(3, 7, 3)
        expected = expected_outputs(lstms, inputs, mask)
        kinds = ["DEFAULT", "AVX2", "AVX512"]
        own = torch.backends.cpu.get_cpu_capability()
        for capability in kinds[: kinds.index(own) + 1] if own in kinds else ["DEFAULT"]:
            monkeypatch.setattr(
                torch.backends.cpu, "get_cpu_capability", lambda name=capability: name
            )
            native.library.cache_clear()
            try:
                torch.testing.assert_close(run_layer(*lstms, inputs, mask), expected)
            finally:
                native.library.cache_clear()

    def test_without_it_one_sentence_says_so(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(native, "_FILES_OF_CAPABILITY", {})
        monkeypatch.setattr(native.Path, "glob", lambda *_: [])
        native.library.cache_clear()
        try:
            assert not can_run(torch.zeros(1, 2, 3)) and not can_run(torch.zeros(1, 2, 3))
        finally:
            native.library.cache_clear()
        assert [record.getMessage() for record in caplog.records] == [
            "the native kernels have not been built: torch's do their work, more slowly"
        ]
