from bidaf_plugin.data.token_indexers.cloze_words_indexer import (
    ClozeWordsIndexer as ClozeWordsIndexer,
)
from bidaf_plugin.data.token_indexers.word_indexers import (
    WordCharactersIndexer as WordCharactersIndexer,
)
from bidaf_plugin.data.token_indexers.word_indexers import WordFormsIndexer as WordFormsIndexer
from bidaf_plugin.data.token_indexers.word_indexers import WordIdIndexer as WordIdIndexer
from bidaf_plugin.data.token_indexers.word_indexers import WordIndexer as WordIndexer
