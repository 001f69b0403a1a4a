from bidaf_plugin.data.token_indexers.cloze_words_indexer import (
    ClozeWordsIndexer as ClozeWordsIndexer,
)
from bidaf_plugin.data.token_indexers.word_characters_indexer import (
    WordCharactersIndexer as WordCharactersIndexer,
)
from bidaf_plugin.data.token_indexers.word_forms_indexer import WordFormsIndexer as WordFormsIndexer
from bidaf_plugin.data.token_indexers.word_id_indexer import WordIdIndexer as WordIdIndexer
from bidaf_plugin.data.token_indexers.word_indexer import WordIndexer as WordIndexer
