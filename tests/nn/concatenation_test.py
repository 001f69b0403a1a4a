import torch

from bidaf_plugin.nn.concatenation import as_terms, concatenate, mix, take


def test_terms_of_one_word_stand_at_all_words() -> None:
    first, common = torch.randn(2, 3, 4), torch.randn(2, 1, 5)
    concatenated = concatenate([first, common])
    assert concatenated.shape == (2, 3, 9)
    assert torch.equal(concatenated[..., :4], first)
    assert torch.equal(concatenated[:, 2, 4:], common[:, 0])
    assert as_terms(first) == [first] and concatenate(first) is first


def test_a_mixture_says_what_it_is_a_mixture_of() -> None:
    weights, vectors = torch.rand(2, 3, 4), torch.randn(2, 4, 5)
    mixed = mix(weights, vectors)
    assert torch.equal(mixed, torch.bmm(weights, vectors))
    assert mixed.mixture_of == (weights, vectors)  # type: ignore[attr-defined]


def test_what_is_taken_says_what_it_is_taken_from() -> None:
    vectors, indices = torch.randn(2, 3, 4), torch.tensor([1, 0, 1])
    taken = take(vectors, indices)
    assert torch.equal(taken, vectors[[1, 0, 1]])
    assert taken.taken_from == (vectors, indices)  # type: ignore[attr-defined]
