"""
The JSON objects that predictors take, checked.
"""

from typing import Any

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.runtime import records
from bidaf_plugin.runtime.errors import QuestionError
from bidaf_plugin.runtime.records import Record


def check_record(record: Any) -> Record:
    """
    The question that a JSON object holds, or a `DataError` that says what is wrong with it. This is the
    only check: whoever has a `Record` need not look again.
    """
    try:
        return records.check_record(record)
    except QuestionError as error:
        is_squad = isinstance(record, dict) and "data" in record
        hint = "; a SQuAD file needs --use-dataset-reader" if is_squad else ""
        raise DataError(f"{error}{hint}") from error


def check_single_passage(record: Any) -> Record:
    """The same for a question that may not have several passages."""
    checked = check_record(record)
    if checked.is_list:
        raise DataError("there are several 'passages'; expected one 'passage'")
    return checked
