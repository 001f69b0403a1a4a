from bidaf_plugin.data.tokenizers.ptb_tokenizer import PtbTokenizer as PtbTokenizer
from bidaf_plugin.data.tokenizers.text_tokens import TextTokens as TextTokens
from bidaf_plugin.runtime.lexicon import Lexicon as Lexicon
