from bidaf_plugin.tokenizers.lexicon import Lexicon as Lexicon
from bidaf_plugin.tokenizers.ptb_tokenizer import PtbTokenizer as PtbTokenizer
from bidaf_plugin.tokenizers.text_tokens import TextTokens as TextTokens
from bidaf_plugin.tokenizers.token_table import TokenTable as TokenTable
