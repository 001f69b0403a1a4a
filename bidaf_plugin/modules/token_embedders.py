import logging
from typing import Any, Dict, List, Optional

import numpy
import torch
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.token_embedders import TokenEmbedder
from allennlp.modules.token_embedders.embedding import EmbeddingsTextFile
from overrides import overrides

logger = logging.getLogger(__name__)


@TokenEmbedder.register("fixed_and_trained")
class FixedAndTrainedEmbedder(TokenEmbedder):
    """
    The word embedding layer of [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603):
    "we use pre-trained word vectors, GloVe, to obtain the fixed word embedding of each word".

    Words that the pretrained file lacks have trained vectors, as in the authors' code; how frequent
    such a word must be is the vocabulary's choice (`"min_count": {"tokens": 11}` together with
    `"pretrained_files"`, which keeps every word of the file that occurs). Only the trained rows are
    parameters, so the optimizer and the moving average touch a few thousand rows and not the whole
    of GloVe. Padding has the zero vector.

    Some words of the file can be trained, too, from their vectors there: those of a vocabulary namespace,
    `tuned_namespace`. After [DrQA](https://arxiv.org/abs/1704.00051) (Chen et al., 2017), which tunes the
    1,000 most frequent words of questions: `what`, `how`, `which`.

    With `extend_vocab` (`allennlp evaluate --extend-vocab`, or `pretrained_file` among the
    predictor's arguments) words that were unseen in training get their vector from the file; those
    not in it keep the trained vector of the unknown word.

    Registered as a `TokenEmbedder` with name "fixed_and_trained".

    # Parameters

    vocab : `Vocabulary`
    embedding_dim : `int`
    pretrained_file : `str`, optional (default = `None`)
        A path, a URL or `(archive)#member` in GloVe's text format. Without it all rows are trained.
    vocab_namespace : `str`, optional (default = `"tokens"`)
    tuned_namespace : `str`, optional (default = `None`)
        The namespace of the words that are trained although they are in the file (see
        `count_question_words` of `BidafSquadReader`).
    """

    rows: torch.Tensor
    fixed: torch.Tensor

    def __init__(
        self,
        vocab: Vocabulary,
        embedding_dim: int,
        pretrained_file: Optional[str] = None,
        vocab_namespace: str = "tokens",
        tuned_namespace: Optional[str] = None,
    ) -> None:
        super().__init__()
        self._embedding_dim = embedding_dim
        self.vocab_namespace = vocab_namespace
        self._pretrained_file = pretrained_file
        words = _words(vocab, vocab_namespace)
        vectors = _read_vectors(pretrained_file, words, embedding_dim) if pretrained_file else {}

        padding_index = vocab.get_token_index(vocab._padding_token, vocab_namespace)
        self._unknown_index = vocab.get_token_index(vocab._oov_token, vocab_namespace)
        tuned = set(_words(vocab, tuned_namespace)) if tuned_namespace is not None else set()
        fixed_rows = [numpy.zeros(embedding_dim, dtype=numpy.float32)]
        # Where the vector of each word is: row r >= 0 of the fixed vectors, or row -1 - r of the
        # trained ones.
        rows = torch.zeros(len(words), dtype=torch.long)
        num_trained = 0
        start_of_row: Dict[int, numpy.ndarray] = {}
        for index, word in enumerate(words):
            if index == padding_index:
                continue
            is_in_file = word in vectors and index != self._unknown_index
            if is_in_file and word not in tuned:
                rows[index] = len(fixed_rows)
                fixed_rows.append(vectors[word])
            else:
                if is_in_file:
                    start_of_row[num_trained] = vectors[word]
                rows[index] = -1 - num_trained
                num_trained += 1
        # Shape: (vocabulary_size,)
        self.register_buffer("rows", rows)
        # Shape: (num_fixed, embedding_dim)
        self.register_buffer("fixed", torch.from_numpy(numpy.stack(fixed_rows)))
        # Shape: (num_trained, embedding_dim)
        trained = torch.randn(num_trained, embedding_dim)
        for row, vector in start_of_row.items():
            trained[row] = torch.from_numpy(vector)
        self.trained = torch.nn.Parameter(trained)
        logger.info(
            "word vectors: %d fixed, %d trained, %d of these from the file",
            len(fixed_rows) - 1,
            num_trained,
            len(start_of_row),
        )

    @overrides
    def get_output_dim(self) -> int:
        return self._embedding_dim

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        tokens : `torch.LongTensor`
            Shape `(batch_size, num_tokens)`.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, num_tokens, embedding_dim)`.
        """
        # Shape: (batch_size, num_tokens)
        rows = self.rows[tokens]
        # Shape: (batch_size, num_tokens, embedding_dim)
        fixed = torch.nn.functional.embedding(rows.clamp(min=0), self.fixed)
        # Shape: (batch_size, num_tokens, embedding_dim)
        trained = torch.nn.functional.embedding((-1 - rows).clamp(min=0), self.trained)
        return torch.where(rows.unsqueeze(-1) < 0, trained, fixed)

    def extend_vocab(
        self,
        extended_vocab: Vocabulary,
        vocab_namespace: Optional[str] = None,
        extension_pretrained_file: Optional[str] = None,
        model_path: Optional[str] = None,
    ) -> None:
        """
        Gives vectors to the words that were added to the vocabulary: AllenNLP calls this from
        `Model.extend_embedder_vocab`.
        """
        words = _words(extended_vocab, self.vocab_namespace)
        new_words = words[len(self.rows) :]
        pretrained_file = extension_pretrained_file or self._pretrained_file
        if not new_words:
            return
        vectors: Dict[str, numpy.ndarray] = {}
        if pretrained_file:
            vectors = _read_vectors(pretrained_file, new_words, self._embedding_dim)
        known_words = [word for word in new_words if word in vectors]
        row_of_known_word = {word: len(self.fixed) + i for i, word in enumerate(known_words)}
        unknown_row = int(self.rows[self._unknown_index])
        new_rows = [row_of_known_word.get(word, unknown_row) for word in new_words]
        self.rows = torch.cat([self.rows, self.rows.new_tensor(new_rows)])
        if known_words:
            new_vectors = numpy.stack([vectors[word] for word in known_words])
            self.fixed = torch.cat([self.fixed, self.fixed.new_tensor(new_vectors)])
        logger.info("%d new words, %d of them with a vector", len(new_words), len(known_words))

    def keep_words(self, num_words: int) -> None:
        """Forgets all words but the first ones of the vocabulary."""
        rows = self.rows[:num_words]
        is_fixed = rows >= 0
        # The zero vector of padding stays the first of the fixed ones.
        # Shape: (num_fixed,) and (number of fixed words,)
        kept_fixed, fixed_rows = rows[is_fixed].unique(return_inverse=True)
        # Shape: (num_trained,) and (number of trained words,)
        kept_trained, trained_rows = (-1 - rows[~is_fixed]).unique(return_inverse=True)
        self.fixed = self.fixed[kept_fixed]
        self.trained = torch.nn.Parameter(self.trained.detach()[kept_trained])
        self.rows = rows.clone()
        self.rows[is_fixed], self.rows[~is_fixed] = fixed_rows, -1 - trained_rows

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, *args: Any) -> None:
        # An archive is loaded without the pretrained file, so which words are fixed, and hence the
        # sizes of the tables, are known only from the saved weights.
        for name in ("rows", "fixed", "trained"):
            saved, own = state_dict.get(prefix + name), getattr(self, name)
            if saved is not None and saved.shape != own.shape:
                # In the precision of the model, whatever the file's.
                resized = own.new_empty(saved.shape)
                if name == "trained":
                    resized = torch.nn.Parameter(resized)
                setattr(self, name, resized)
        super()._load_from_state_dict(state_dict, prefix, *args)


def _words(vocab: Vocabulary, namespace: str) -> List[str]:
    """The words of a namespace in the order of their indices."""
    index_to_word = vocab.get_index_to_token_vocabulary(namespace)
    return [index_to_word[index] for index in range(len(index_to_word))]


def _read_vectors(
    pretrained_file: str, words: List[str], embedding_dim: int
) -> Dict[str, numpy.ndarray]:
    """The vectors of those `words` that are in the file."""
    wanted = set(words)
    vectors: Dict[str, numpy.ndarray] = {}
    with EmbeddingsTextFile(pretrained_file) as file:
        for line_number, line in enumerate(Tqdm.tqdm(file, desc="reading word vectors"), start=1):
            # From the right: some files have "words" with blanks in them, which no tokenizer makes.
            word, *numbers = line.rstrip().rsplit(" ", embedding_dim)
            if line_number == 1:
                num_numbers = len(line.rstrip().split(" ")) - 1
                if num_numbers != embedding_dim:
                    raise ConfigurationError(
                        f"{pretrained_file}, line 1: the vector has {num_numbers} numbers, but "
                        f"'embedding_dim' is {embedding_dim}"
                    )
            if word not in wanted:
                continue
            try:
                vector = numpy.array(numbers, dtype=numpy.float32)
            except ValueError as error:
                raise ConfigurationError(
                    f"{pretrained_file}, line {line_number}: not a row of word vectors ({error})"
                ) from error
            if len(vector) != embedding_dim:
                raise ConfigurationError(
                    f"{pretrained_file}, line {line_number}: the vector of {word!r} has "
                    f"{len(vector)} numbers, but 'embedding_dim' is {embedding_dim}"
                )
            vectors[word] = vector
    return vectors
