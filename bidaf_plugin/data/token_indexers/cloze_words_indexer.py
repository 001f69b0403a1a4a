from typing import Dict, List, Optional, Tuple

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from overrides import overrides

# How often each name of an entity is counted, so that no `min_count` leaves it out.
_ALWAYS = 1 << 40
# Words that are remembered before the memory is emptied: a server meets new ones for ever.
_MAX_WORDS = 500_000


@TokenIndexer.register("cloze_words")
class ClozeWordsIndexer(TokenIndexer):
    """
    One number for each word of a cloze question, like AllenNLP's `single_id`, with vocabulary entries
    for the anonymous entities: `@@ENTITY0@@`, `@@ENTITY1@@`, ... and `@@PLACEHOLDER@@`.

    They are in every vocabulary that this indexer counts for, whatever `min_count` says. No word of a
    text becomes one of them, since words are lower-cased, and no file of word vectors has a row for
    them, so their vectors are always trained.

    The entity of a token stands in its `ent_type_`; its text is the same for all entities, so that no
    other indexer (`word_characters`) can tell one from another.

    Registered as a `TokenIndexer` with name "cloze_words".

    # Parameters

    namespace : `str`, optional (default = `"tokens"`)
    num_entities : `int`, optional (default = `600`)
        How many names there are to give to the entities of a question; the authors have 600, and the
        richest article of CNN has 527 entities. (If a question has more, some share a name.)
    """

    def __init__(self, namespace: str = "tokens", num_entities: int = 600) -> None:
        super().__init__()
        if num_entities < 1:
            raise ConfigurationError(f"num_entities must be 1 or more, not {num_entities}")
        self._namespace = namespace
        self._num_entities = num_entities
        self._index_of_word: Dict[str, int] = {}
        self._entity_rows = torch.empty(0, dtype=torch.long)
        # The indices hold for this vocabulary at this size of the namespace.
        self._made_with: Tuple[Optional[Vocabulary], int] = (None, 0)

    @overrides
    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        counts = counter[self._namespace]
        if not token.ent_type_:
            counts[token.ensure_text().lower()] += 1
        elif token.ent_type_ == PLACEHOLDER_NAME and PLACEHOLDER_NAME not in counts:
            # Every question has a placeholder.
            counts[PLACEHOLDER_NAME] = _ALWAYS
            for number in range(self._num_entities):
                counts[entity_name(number)] = _ALWAYS

    def entity_rows(self, vocabulary: Vocabulary) -> torch.Tensor:
        """
        # Returns

        `torch.LongTensor`
            The index of each name of an entity, shape `(num_entities,)`.
        """
        self._look_at(vocabulary)
        return self._entity_rows

    @overrides
    def tokens_to_indices(
        self, tokens: List[Token], vocabulary: Vocabulary
    ) -> Dict[str, List[int]]:
        self._look_at(vocabulary)
        known = self._index_of_word
        words = [token.ent_type_ or token.text for token in tokens]
        try:
            return {"tokens": [known[word] for word in words]}
        except KeyError:
            if len(known) >= _MAX_WORDS:
                known.clear()
            for token, word in zip(tokens, words, strict=True):
                entry = word if token.ent_type_ else word.lower()
                known[word] = vocabulary.get_token_index(entry, self._namespace)
            return {"tokens": [known[word] for word in words]}

    def _look_at(self, vocabulary: Vocabulary) -> None:
        size = vocabulary.get_vocab_size(self._namespace)
        made_with_vocabulary, made_with_size = self._made_with
        if made_with_vocabulary is vocabulary and made_with_size == size:
            return
        known = vocabulary.get_token_to_index_vocabulary(self._namespace)
        names = [entity_name(number) for number in range(self._num_entities)]
        missing = [name for name in [*names, PLACEHOLDER_NAME] if name not in known]
        if missing:
            raise ConfigurationError(
                f"the vocabulary lacks {missing[0]!r} in the namespace {self._namespace!r}: it must be "
                "made from instances of the reader 'bidaf_cloze' with the indexer 'cloze_words' and "
                f"'num_entities' of at least {self._num_entities}, and without "
                "'only_include_pretrained_words'"
            )
        self._entity_rows = torch.tensor([known[name] for name in names])
        self._index_of_word = {}
        self._made_with = (vocabulary, size)

    @overrides
    def get_empty_token_list(self) -> IndexedTokenList:
        return {"tokens": []}

    @overrides
    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        # Shape: (num_tokens,)
        padded = numpy.zeros(padding_lengths["tokens"], dtype=numpy.int64)
        padded[: len(tokens["tokens"])] = tokens["tokens"]
        return {"tokens": torch.from_numpy(padded)}


PLACEHOLDER_NAME = "@@PLACEHOLDER@@"


def entity_name(number: int) -> str:
    """The vocabulary entry of an entity."""
    return f"@@ENTITY{number}@@"
