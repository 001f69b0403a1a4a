from typing import List, Optional

import torch

from bidaf_plugin.nn.projections import add_projection, project


class PassageVectors:
    """
    The vectors of all words of a batch of passages, together of shape
    `(batch_size, passage_length, dim)`, which need not be made to be used.

    What the later layers do with the query-aware passage `G = [h; u~; h * u~; h * h~]` is to multiply
    it by a matrix, and `W G` takes less arithmetic and memory from the parts of `G` than from `G`
    itself. So `G` is handed on as an object that can `project` itself. `whole` is its definition:
    `project(weight)` equals `whole() @ weight.t()`.
    """

    def whole(self) -> torch.Tensor:
        """The vectors themselves, shape `(batch_size, passage_length, dim)`."""
        raise NotImplementedError

    def project(self, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
        """
        # Parameters

        weight : `torch.Tensor`
            Shape `(output_dim, dim)`.
        bias : `torch.Tensor`, optional
            Shape `(output_dim,)`.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, passage_length, output_dim)`.
        """
        return project(self.whole(), weight, bias)

    def add_projection(self, total: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """`total + self.project(weight)`, where the memory of `total` may be used."""
        return total.add_(self.project(weight))

    def drop(self, dropout: torch.nn.Module) -> "PassageVectors":
        """
        The vectors after dropout, which strikes the parts that they are made of: what occurs in
        several elements of a vector is dropped in all of them. The rate of each element is `dropout`'s.
        """
        return WholeVectors(dropout(self.whole()))


class WholeVectors(PassageVectors):
    """
    Vectors that are a tensor.

    # Parameters

    vectors : `torch.Tensor`
        Shape `(batch_size, passage_length, dim)`.
    """

    def __init__(self, vectors: torch.Tensor) -> None:
        self._vectors = vectors

    def whole(self) -> torch.Tensor:
        return self._vectors

    def add_projection(self, total: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return add_projection(total, self._vectors, weight)


class RepeatedVectors(PassageVectors):
    """
    Vectors of which there are few, each at many places: those of words before they have a context.

    # Parameters

    vectors : `torch.Tensor`
        Shape `(num_vectors, dim)`.
    index_at_position : `torch.LongTensor`
        Which of them is where, shape `(batch_size, passage_length)`.
    """

    def __init__(self, vectors: torch.Tensor, index_at_position: torch.Tensor) -> None:
        self._vectors = vectors
        self._index_at_position = index_at_position

    def whole(self) -> torch.Tensor:
        return torch.nn.functional.embedding(self._index_at_position, self._vectors)

    def project(self, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
        # Shape: (num_vectors, output_dim)
        projected = project(self._vectors, weight, bias)
        return torch.nn.functional.embedding(self._index_at_position, projected)

    def drop(self, dropout: torch.nn.Module) -> PassageVectors:
        # Each place has its own dropout, which makes all vectors different.
        return super().drop(dropout) if dropout.training else self


class JoinedVectors(PassageVectors):
    """
    The concatenation `[x; y]` of two vectors of each word.

    # Parameters

    parts : `List[PassageVectors]`
        `x` and `y`.
    first_dim : `int`
        The size of `x`.
    """

    def __init__(self, parts: List[PassageVectors], first_dim: int) -> None:
        self._parts = parts
        self._first_dim = first_dim

    def whole(self) -> torch.Tensor:
        # Shape: (batch_size, passage_length, dim of x + dim of y)
        return torch.cat([part.whole() for part in self._parts], dim=-1)

    def project(self, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
        first, second = self._parts
        # Shape: (batch_size, passage_length, output_dim)
        projected = first.project(weight[:, : self._first_dim], bias)
        return second.add_projection(projected, weight[:, self._first_dim :])

    def drop(self, dropout: torch.nn.Module) -> PassageVectors:
        return JoinedVectors([part.drop(dropout) for part in self._parts], self._first_dim)
