"""
The six classes of errors of the paper's error analysis (Table 4 in its Appendix A).
"""

from typing import NamedTuple, Optional


class ErrorClass(NamedTuple):
    """
    # Parameters

    name : `str`
    paper_percent : `int`
        How many of 50 wrong answers of the paper's model are of this class, in percent.
    meaning : `str`
    question, prediction, answer : `str`
        The paper's example.
    """

    name: str
    paper_percent: int
    meaning: str
    question: str
    prediction: str
    answer: str


ERROR_CLASSES = (
    ErrorClass(
        "Imprecise answer boundaries",
        50,
        "It is the right place, but the answer begins or ends too early or too late.",
        "Which articles of the Free Movement of Workers Regulation set out the primary provisions on "
        "equal treatment of workers?",
        "1 to 7",
        "articles 1 to 7",
    ),
    ErrorClass(
        "Syntactic complications and ambiguities",
        28,
        "How the words of the sentence or of the question belong together was misunderstood.",
        "What was later discovered written by Luther?",
        "A piece of paper",
        "his last statement",
    ),
    ErrorClass(
        "Paraphrase problems",
        14,
        "The question says in other words what the passage says.",
        "What is the first model of education, in the Australian system?",
        "three-tier",
        "primary education",
    ),
    ErrorClass(
        "External knowledge",
        4,
        "The answer takes knowledge that is not in the passage.",
        "If Roman numerals were used in the naming of the 50th Super Bowl, which one would have been "
        "used?",
        "Super Bowl 50",
        "L",
    ),
    ErrorClass(
        "Multi-sentence",
        2,
        "The answer takes more than one sentence of the passage.",
        "What set the stage for Merits role in NSFNET",
        "All of this set the stage for Merit 's role in the NSFNET project starting in the mid-1980s",
        "Ethernet attached hosts, and eventually TCP/IP and additional public universities in Michigan "
        "join the network",
    ),
    ErrorClass(
        "Incorrect preprocessing",
        2,
        "The tokenizer did not cut where the answer begins or ends.",
        "John Mayow died in what year?",
        "1641-1679",
        "1679",
    ),
)
IMPRECISE_BOUNDARIES = ERROR_CLASSES[0]


def find_error_class(text: str) -> Optional[ErrorClass]:
    """The class that somebody means: by its name, the beginning of it, or its number, 1 to 6."""
    text = text.strip().lower()
    found = [
        error_class
        for number, error_class in enumerate(ERROR_CLASSES, start=1)
        if text and (error_class.name.lower().startswith(text) or text == str(number))
    ]
    return found[0] if len(found) == 1 else None
