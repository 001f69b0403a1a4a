from bidaf_plugin.data.token_indexers.word_indexer import WordIndexer as WordIndexer
from bidaf_plugin.data.token_indexers.word_indexers import ClozeWordsIndexer as ClozeWordsIndexer
from bidaf_plugin.data.token_indexers.word_indexers import (
    WordCharactersIndexer as WordCharactersIndexer,
)
from bidaf_plugin.data.token_indexers.word_indexers import WordFormsIndexer as WordFormsIndexer
from bidaf_plugin.data.token_indexers.word_indexers import WordIdIndexer as WordIdIndexer
