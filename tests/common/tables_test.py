from bidaf_plugin.common.tables import align_columns


def test_words_are_flush_left_and_numbers_flush_right() -> None:
    assert align_columns([["word", "n"], ["a", "1,000"], ["", ""]]) == "\n".join(
        ["word      n", "a     1,000", ""]
    )
