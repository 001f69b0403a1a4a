import torch

from bidaf_plugin.modules import CharacterCnnEncoder


class TestCharacterCnnEncoder:
    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.encoder = CharacterCnnEncoder(embedding_dim=3, num_filters=50, filter_width=5).eval()

    def test_a_word_shorter_than_the_filters_has_features(self) -> None:
        characters = torch.randn(2, 5, 3)
        mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0]])
        features = self.encoder(characters, mask)
        assert (features > 0).float().mean() > 0.2
        assert not torch.allclose(features[0], features[1])

    def test_padding_changes_nothing(self) -> None:
        word = torch.randn(1, 7, 3)
        mask = torch.ones(1, 7)
        features = self.encoder(word, mask)
        padded = torch.cat([word, 100 * torch.randn(1, 9, 3)], dim=1)
        padded_mask = torch.cat([mask, torch.zeros(1, 9)], dim=1)
        torch.testing.assert_close(self.encoder(padded, padded_mask), features)

    def test_no_characters_give_zero(self) -> None:
        assert not self.encoder(torch.randn(1, 6, 3), torch.zeros(1, 6)).any()

    def test_the_windows_are_those_of_the_definition(self) -> None:
        weight, bias = self.encoder._convolution.weight, self.encoder._convolution.bias
        word = torch.randn(4, 3)
        padded = torch.cat([word, torch.zeros(4, 3)])
        windows = torch.stack(
            [(weight * padded[i : i + 5].T).sum(dim=(1, 2)) + bias for i in range(4)]
        )
        expected = windows.relu().max(dim=0).values
        features = self.encoder(word.unsqueeze(0), torch.ones(1, 4)).squeeze(0)
        torch.testing.assert_close(features, expected)
