from collections import defaultdict
from typing import ClassVar, Dict, Optional, Sequence, Tuple

from allennlp.data import Token, TokenIndexer, Vocabulary
from overrides import overrides

from bidaf_plugin.data.fields.compact_text_field import CompactTextField, Counts


class SharedTextField(CompactTextField):
    """
    A text field that several instances hold together: the passage of all questions on a paragraph.

    AllenNLP asks every instance to count and to index its fields, so a plain `TextField` would do
    the same work once per question; this one does it once and keeps the result.
    """

    __slots__ = ["_indexed_with"]

    # The questions of a paragraph follow each other, so the counts of one field are enough to keep.
    _latest_counts: ClassVar[Tuple[Optional["SharedTextField"], Counts]] = (None, {})

    def __init__(
        self, tokens: Sequence[Token], token_indexers: Optional[Dict[str, TokenIndexer]] = None
    ) -> None:
        super().__init__(tokens, token_indexers)
        self._indexed_with: Optional[Vocabulary] = None

    @overrides
    def count_vocab_items(self, counter: Counts) -> None:
        counted_field, counts_by_namespace = SharedTextField._latest_counts
        if counted_field is not self:
            counts_by_namespace = defaultdict(lambda: defaultdict(int))
            super().count_vocab_items(counts_by_namespace)
            SharedTextField._latest_counts = (self, counts_by_namespace)
        for namespace, counts in counts_by_namespace.items():
            total = counter[namespace]
            for item, count in counts.items():
                total[item] += count

    @overrides
    def index(self, vocab: Vocabulary) -> None:
        if self._indexed_with is not vocab:
            super().index(vocab)
            self._indexed_with = vocab
