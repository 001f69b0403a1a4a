from typing import List

from allennlp.common.checks import ConfigurationError
from allennlp.data.tokenizers import Token, Tokenizer
from overrides import overrides

from bidaf_plugin.data.tokenizers.text_tokens import TextTokens
from bidaf_plugin.data.tokenizers.treebank_rules import load_treebank_rules
from bidaf_plugin.runtime.text_cutter import TextCutter
from bidaf_plugin.runtime.word_cutter import WordCutter


@Tokenizer.register("ptb")
class PtbTokenizer(Tokenizer):
    """
    The "regular-expression-based word tokenizer (PTB Tokenizer)" of
    [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603) (Seo et al., ICLR 2017), with
    character offsets: `text[token.idx : token.idx_end] == token.text` for every token.

    The Penn Treebank rules are those of spaCy's English rule tokenizer (see `TreebankRules`): `don't`
    becomes `do n't`, `(1641).` becomes `( 1641 ) .`. They cut most compounds, which NLTK's Treebank
    tokenizer, the one that the authors use, leaves whole; `whole_compounds` does so too.

    Registered as a `Tokenizer` with name "ptb".

    # Parameters

    split_compounds : `bool`, optional (default = `True`)
        Cut words further at dashes, slashes, quotes, `~` and the degree sign, which stay as words of
        their own, so that "1679" in "1641–1679" can be an answer. The authors do this in contexts
        but not in questions. Treebank clitics (`'s`, `n't`) stay whole: they have word vectors.
        Without it words are what the rules make of them: "full - time", but "O'Brien". Since the
        rules cut at most hyphens and slashes themselves, that is nearly the same.
    whole_compounds : `bool`, optional (default = `False`)
        Do not cut at hyphens, dashes and slashes between letters or digits: "full-time" and
        "1854-1855" are one word each, as in the authors' questions. Not with `split_compounds`.
    max_cached_chunks : `int`, optional (default = `500000`)
        The words of each distinct run of non-blanks are remembered, which makes the tokenizer
        several times faster on a corpus; at this many, or if they are very long, the memory is emptied.
    """

    def __init__(
        self,
        split_compounds: bool = True,
        max_cached_chunks: int = 500_000,
        whole_compounds: bool = False,
    ) -> None:
        if split_compounds and whole_compounds:
            raise ConfigurationError(
                "'whole_compounds' and 'split_compounds' of the tokenizer 'ptb' are both true: set "
                "'split_compounds' to false to keep compounds whole"
            )
        self._split_compounds = split_compounds
        self._whole_compounds = whole_compounds
        cutter = WordCutter(load_treebank_rules().cut, split_compounds, whole_compounds)
        self._cutter = TextCutter(cutter.cut, TextTokens, max_cached_chunks)

    @overrides
    def tokenize(self, text: str) -> List[Token]:
        return list(self.batch_tokenize([text])[0])

    @overrides(check_signature=False)
    def batch_tokenize(self, texts: List[str]) -> List[TextTokens]:  # type: ignore[override]
        """The tokens of many texts, several times faster than one by one, and in little memory."""
        return self._cutter.cut(texts)
