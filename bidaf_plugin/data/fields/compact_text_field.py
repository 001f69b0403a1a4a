from collections import defaultdict
from copy import copy, deepcopy
from typing import Any, Callable, ClassVar, Dict, List, Optional, Sequence, Tuple

from allennlp.data import TextFieldTensors, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from overrides import overrides

from bidaf_plugin.data.token_indexers.word_indexer import Counts, WordIndexer
from bidaf_plugin.data.tokenizers import TextTokens


class CompactTextField(TextField):
    """
    A `TextField` that needs little memory when its indexers are `WordIndexer`s: the indices are then
    taken from a table when a batch is made, and not kept. It also needs little time when its tokens are
    `TextTokens`. With other tokens or other indexers it works like a plain `TextField`.
    """

    __slots__ = ["_vocab"]

    def __init__(
        self, tokens: Sequence[Token], token_indexers: Optional[Dict[str, TokenIndexer]] = None
    ) -> None:
        # TextField looks at every token, which would be made for that purpose.
        super().__init__([] if isinstance(tokens, TextTokens) else tokens, token_indexers)
        self.tokens = tokens  # type: ignore[misc]
        # The vocabulary that the field was indexed with.
        self._vocab: Optional[Vocabulary] = None

    @overrides
    def count_vocab_items(self, counter: Counts) -> None:
        count_items(self.tokens, self.token_indexers, counter)

    @overrides
    def index(self, vocab: Vocabulary) -> None:
        self._vocab = vocab
        # Of indexers without a table.
        self._indexed_tokens = {}  # type: ignore[misc]
        for name, indexer in self.token_indexers.items():
            if not isinstance(indexer, WordIndexer):
                self._indexed_tokens[name] = indexer.tokens_to_indices(self.tokens, vocab)
            elif isinstance(self.tokens, TextTokens):
                # Made now, so that the first batch need not wait for it.
                indexer.table(self.tokens.lexicon, vocab)

    def _with_all_indices(self, find: Callable[[WordIndexer, Vocabulary], Any]) -> TextField:
        """A plain `TextField` for as long as something is made of it, with what `find` gives for tables."""
        plain = TextField([], self.token_indexers)
        if self._vocab is not None and self._indexed_tokens is not None:
            plain._indexed_tokens = dict(self._indexed_tokens)
            for name, indexer in self.token_indexers.items():
                if isinstance(indexer, WordIndexer):
                    plain._indexed_tokens[name] = find(indexer, self._vocab)
        return plain

    @overrides
    def get_padding_lengths(self) -> Dict[str, int]:
        # The lengths of the indices are known without them.
        return self._with_all_indices(
            lambda indexer, vocab: {indexer.output_name: self.tokens}
        ).get_padding_lengths()

    @overrides
    def as_tensor(self, padding_lengths: Dict[str, int]) -> TextFieldTensors:
        return self._with_all_indices(
            lambda indexer, vocab: indexer.tokens_to_indices(self.tokens, vocab)
        ).as_tensor(padding_lengths)

    @overrides
    def duplicate(self) -> "CompactTextField":
        copied = copy(self)
        copied.tokens = deepcopy(self.tokens)  # type: ignore[misc]
        copied._indexed_tokens = deepcopy(self._indexed_tokens)  # type: ignore[misc]
        return copied


class QuestionTextField(CompactTextField):
    """
    A text field whose words are counted a second time, in a vocabulary namespace of their own: that of its
    words with `question_` before it. A vocabulary can then have the most frequent words of questions.
    """

    __slots__: List[str] = []

    # That of the words, by AllenNLP's default.
    _NAMESPACE: ClassVar[str] = "tokens"

    @overrides
    def count_vocab_items(self, counter: Counts) -> None:
        counts: Counts = defaultdict(lambda: defaultdict(int))
        super().count_vocab_items(counts)
        add_counts(counts, counter)
        for item, count in counts[self._NAMESPACE].items():
            counter[f"question_{self._NAMESPACE}"][item] += count


class SharedTextField(CompactTextField):
    """
    A text field that several instances hold together: the passage of all questions on a paragraph.

    AllenNLP asks every instance to count and to index its fields, so a plain `TextField` would do
    the same work once per question; this one does it once and keeps the result.
    """

    __slots__: List[str] = []

    # The questions of a paragraph follow each other, in files and in evaluation also in batches, so what was
    # made of one field is enough to keep.
    _latest_counts: ClassVar[Tuple[Optional["SharedTextField"], Counts]] = (None, {})
    _latest_tensors: ClassVar[
        Tuple[Optional["SharedTextField"], Dict[str, int], TextFieldTensors]
    ] = (None, {}, {})

    @overrides
    def count_vocab_items(self, counter: Counts) -> None:
        counted_field, counts = SharedTextField._latest_counts
        if counted_field is not self:
            counts = defaultdict(lambda: defaultdict(int))
            super().count_vocab_items(counts)
            SharedTextField._latest_counts = (self, counts)
        add_counts(counts, counter)

    @overrides
    def index(self, vocab: Vocabulary) -> None:
        SharedTextField._latest_tensors = (None, {}, {})
        if self._vocab is not vocab:
            super().index(vocab)

    @overrides
    def as_tensor(self, padding_lengths: Dict[str, int]) -> TextFieldTensors:
        field, lengths, tensors = SharedTextField._latest_tensors
        if field is not self or lengths != padding_lengths:
            tensors = super().as_tensor(padding_lengths)
            SharedTextField._latest_tensors = (self, padding_lengths, tensors)
        return tensors


def count_items(
    tokens: Sequence[Token], token_indexers: Dict[str, TokenIndexer], counter: Counts
) -> None:
    """Adds the vocabulary items of all tokens to `counter`."""
    for indexer in token_indexers.values():
        if isinstance(indexer, WordIndexer):
            indexer.count_words(indexer.words(tokens), counter)
        else:
            for token in tokens:
                indexer.count_vocab_items(token, counter)


def add_counts(counts: Counts, counter: Counts, times: int = 1) -> None:
    """Adds `counts` to `counter` as if the text had stood there so many times."""
    for namespace, counts_of_namespace in counts.items():
        total = counter[namespace]
        for item, count in counts_of_namespace.items():
            total[item] += count * times
