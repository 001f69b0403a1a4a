import re
from typing import Any, Dict, List, Tuple

from allennlp.data.tokenizers import Token, Tokenizer
from overrides import overrides

from bidaf_plugin.tokenizers.chunk_table import ChunkTable
from bidaf_plugin.tokenizers.text_tokens import TextTokens
from bidaf_plugin.tokenizers.treebank_rules import TreebankRules

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

    The Penn Treebank rules are those of spaCy's English rule tokenizer (see `TreebankRules`): `don't`
    becomes `do n't`, `(1641).` becomes `( 1641 ) .`.

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
        self._rules = TreebankRules()
        self._pieces_of_chunk: Dict[str, List[Tuple[int, str]]] = {}
        self._chunk_table = ChunkTable(self._cut)

    @property
    def settings(self) -> List[Any]:
        """What the tokens depend on, besides the text."""
        return ["ptb", self._split_compounds, self._rules.version]

    @overrides
    def tokenize(self, text: str) -> List[Token]:
        tokens: List[Token] = []
        for match in _CHUNK_PATTERN.finditer(text):
            chunk, start = match.group(), match.start()
            pieces = self._pieces_of_chunk.get(chunk)
            if pieces is None:
                if len(self._pieces_of_chunk) >= self._max_cached_chunks:
                    self._pieces_of_chunk.clear()
                pieces = self._pieces_of_chunk[chunk] = self._cut(chunk)
            for offset, piece in pieces:
                tokens.append(Token(piece, start + offset, start + offset + len(piece)))
        return tokens

    @overrides(check_signature=False)
    def batch_tokenize(self, texts: List[str]) -> List[TextTokens]:  # type: ignore[override]
        """The tokens of many texts, several times faster than one by one, and in little memory."""
        if len(self._chunk_table) >= self._max_cached_chunks:
            self._chunk_table = ChunkTable(self._cut)
        return self._chunk_table.tokenize(texts)

    def _cut(self, text: str) -> List[Tuple[int, str]]:
        """The words of a text with their offsets."""
        # Treebank rules never look across a blank, so each run of non-blanks stands alone.
        if text.split() == [text]:
            return self._cut_chunk(text, 0)
        return [
            word
            for match in _CHUNK_PATTERN.finditer(text)
            for word in self._cut_chunk(match.group(), match.start())
        ]

    def _cut_chunk(self, chunk: str, offset: int) -> List[Tuple[int, str]]:
        words = []
        for piece in self._rules.cut(chunk):
            if not self._split_compounds or len(piece) == 1 or piece.isalnum():
                words.append((offset, piece))
            else:
                words += _split_at_separators(offset, piece)
            offset += len(piece)
        return words


def _split_at_separators(offset: int, piece: str) -> List[Tuple[int, str]]:
    if _CLITIC_PATTERN.fullmatch(piece):
        return [(offset, piece)]
    parts = []
    for part in _SEPARATOR_PATTERN.split(piece):
        if part:
            parts.append((offset, part))
        offset += len(part)
    return parts
