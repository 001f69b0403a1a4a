from bidaf_plugin.token_indexers.cloze_words_indexer import ClozeWordsIndexer as ClozeWordsIndexer
from bidaf_plugin.token_indexers.word_characters_indexer import (
    WordCharactersIndexer as WordCharactersIndexer,
)
