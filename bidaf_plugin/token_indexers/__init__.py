from bidaf_plugin.token_indexers.word_characters_indexer import (
    WordCharactersIndexer as WordCharactersIndexer,
)
