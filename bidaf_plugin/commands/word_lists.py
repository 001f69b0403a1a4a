from typing import List

from bidaf_plugin.common.errors import DataError


def parse_words(argument: str) -> List[str]:
    """The distinct words of an argument that has commas between them."""
    words = [word.strip() for word in argument.split(",")]
    distinct = list(dict.fromkeys(word for word in words if word))
    if not distinct:
        raise DataError(f"--words is {argument!r}; expected words with commas between them")
    return distinct
