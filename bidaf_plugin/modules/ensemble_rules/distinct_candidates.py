from typing import Dict, Iterator, List

from bidaf_plugin.modules.ensemble_rules.ensemble_rule import Candidate


def distinct_candidates(
    candidates: Iterator[Candidate], passage: str, number: int
) -> List[Candidate]:
    """
    Candidates that read differently, the best first. Those that read the same are one, in the place of
    the best and with the sum of the confidences of all that come before there is one text too many.
    """
    found: Dict[str, Candidate] = {}
    for candidate in candidates:
        text = candidate.text(passage)
        if text in found:
            total = found[text].confidence + candidate.confidence
            found[text] = found[text]._replace(confidence=total)
        elif len(found) < number:
            found[text] = candidate
        else:
            break
    return sorted(found.values(), key=lambda candidate: -candidate.confidence)
