import pytest

from bidaf_plugin.analysis.error_classes import ERROR_CLASSES, find_error_class


class TestErrorClasses:
    def test_the_paper_s_table(self) -> None:
        assert [error_class.paper_percent for error_class in ERROR_CLASSES] == [50, 28, 14, 4, 2, 2]
        assert sum(error_class.paper_percent for error_class in ERROR_CLASSES) == 100

    @pytest.mark.parametrize(
        "text, place",
        [
            ("Imprecise answer boundaries", 0),
            ("  imprecise ANSWER boundaries ", 0),
            ("syntactic", 1),
            ("p", 2),
            ("4", 3),
            ("multi-sentence", 4),
            ("inc", 5),
        ],
    )
    def test_names_beginnings_and_numbers(self, text: str, place: int) -> None:
        assert find_error_class(text) is ERROR_CLASSES[place]

    @pytest.mark.parametrize("text", ["", " ", "i", "7", "0", "boundaries", "Paraphrase problemss"])
    def test_what_is_none_or_several_is_not_found(self, text: str) -> None:
        assert find_error_class(text) is None
