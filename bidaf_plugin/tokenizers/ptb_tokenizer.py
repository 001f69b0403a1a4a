import re
from typing import Dict, List, Tuple

import spacy
from allennlp.data.tokenizers import Token, Tokenizer
from overrides import overrides

# The characters at which the authors cut the words of a context once more, keeping each as a word:
# hyphen, minus, em and en dash, slash, tilde, straight and curly quotes, degree sign.
_SEPARATORS = "-\u2212\u2014\u2013/~\"'\u201c\u201d\u2018\u2019\u00b0"
# Treebank tokenizers also make a word of every bracket, of every currency sign and of
# the punctuation before a reference mark ("Paris.[1]", "1873.:33"); spaCy's rules leave these whole.
_SEPARATOR_PATTERN = re.compile(
    rf"([{_SEPARATORS}\[\](){{}}$£€]|[.,;:!?]+(?=[\[(])|[.,;!?]+:(?=\d)|(?<=[^\d.]):(?=\d))"
)
_CLITIC_PATTERN = re.compile(r"(?:n['\u2019]t|['\u2019](?:s|m|d|re|ve|ll|em))", re.IGNORECASE)
_CHUNK_PATTERN = re.compile(r"\S+")


@Tokenizer.register("ptb")
class PtbTokenizer(Tokenizer):
    """
    The "regular-expression-based word tokenizer (PTB Tokenizer)" of
    [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603) (Seo et al., ICLR 2017), with
    character offsets: `text[token.idx : token.idx_end] == token.text` for every token.

    The Penn Treebank rules are those of spaCy's English rule tokenizer, which needs no model to be
    downloaded: `don't` becomes `do n't`, `(1641).` becomes `( 1641 ) .`.

    Registered as a `Tokenizer` with name "ptb".

    # Parameters

    split_compounds : `bool`, optional (default = `True`)
        Cut words further at dashes, slashes, quotes, `~` and the degree sign, which stay as words of
        their own, so that "1679" in "1641-1679" can be an answer. The authors do this in contexts
        but not in questions. Treebank clitics (`'s`, `n't`) stay whole: they have word vectors.
    max_cached_chunks : `int`, optional (default = `500000`)
        The pieces of each distinct run of non-blanks are remembered, which makes the tokenizer
        several times faster on a corpus; at this many the memory is emptied.
    """

    def __init__(self, split_compounds: bool = True, max_cached_chunks: int = 500_000) -> None:
        self._split_compounds = split_compounds
        self._max_cached_chunks = max_cached_chunks
        self._rule_tokenizer = spacy.blank("en").tokenizer
        self._pieces_of_chunk: Dict[str, List[Tuple[int, str]]] = {}

    @overrides
    def tokenize(self, text: str) -> List[Token]:
        tokens: List[Token] = []
        # Treebank rules never look across a blank, so each run of non-blanks stands alone.
        for match in _CHUNK_PATTERN.finditer(text):
            chunk_start = match.start()
            for offset, piece in self._pieces(match.group()):
                start = chunk_start + offset
                tokens.append(Token(piece, start, start + len(piece)))
        return tokens

    def _pieces(self, chunk: str) -> List[Tuple[int, str]]:
        pieces = self._pieces_of_chunk.get(chunk)
        if pieces is None:
            pieces = [(token.idx, token.text) for token in self._rule_tokenizer(chunk)]
            if self._split_compounds:
                pieces = [part for piece in pieces for part in _split_at_separators(*piece)]
            if len(self._pieces_of_chunk) >= self._max_cached_chunks:
                self._pieces_of_chunk.clear()
            self._pieces_of_chunk[chunk] = pieces
        return pieces


def _split_at_separators(offset: int, piece: str) -> List[Tuple[int, str]]:
    if len(piece) == 1 or _CLITIC_PATTERN.fullmatch(piece):
        return [(offset, piece)]
    parts = []
    for part in _SEPARATOR_PATTERN.split(piece):
        if part:
            parts.append((offset, part))
        offset += len(part)
    return parts
