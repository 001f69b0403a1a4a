import torch

from benchmarks.products import count_product_flops


class TestCountProductFlops:
    def test_linear_layer_with_backward(self) -> None:
        layer = torch.nn.Linear(5, 7)
        inputs = torch.rand(3, 5, requires_grad=True)
        counts = count_product_flops(lambda: layer(inputs).sum().backward())
        # Forward, gradient of the weight, gradient of the input.
        assert sum(counts.values()) == 3 * (2 * 3 * 5 * 7)

    def test_products_in_place_and_with_vectors(self) -> None:
        matrix, vector, total = torch.rand(4, 6), torch.rand(6), torch.zeros(4, 4)

        def step() -> None:
            total.addmm_(matrix, matrix.t())
            torch.mm(matrix, matrix.t(), out=total)
            total.unsqueeze(0).baddbmm_(matrix.unsqueeze(0), matrix.t().unsqueeze(0))
            torch.mv(matrix, vector)
            torch.dot(vector, vector)

        assert sum(count_product_flops(step).values()) == 3 * (2 * 4 * 6 * 4) + 2 * 4 * 6 + 2 * 6

    def test_lstm_counts_the_same_packed_and_unpacked(self) -> None:
        # Whole sequences, so that packing leaves nothing out. Unpacked ones run in one operator.
        length, batch_size, input_size, hidden_size = 6, 4, 5, 8
        lstm = torch.nn.LSTM(input_size, hidden_size, batch_first=True)
        inputs = torch.rand(batch_size, length, input_size, requires_grad=True)
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            inputs, [length] * batch_size, batch_first=True
        )
        unpacked_flops = count_product_flops(lambda: lstm(inputs)[0].sum().backward())
        packed_flops = count_product_flops(lambda: lstm(packed)[0].data.sum().backward())
        forward = 2 * length * batch_size * 4 * hidden_size * (input_size + hidden_size)
        assert sum(unpacked_flops.values()) == 3 * forward
        # The gradient of the initial state, which nobody wants, is left out there.
        no_gradient = 2 * batch_size * 4 * hidden_size * hidden_size
        assert 3 * forward - sum(packed_flops.values()) in (0, no_gradient)
