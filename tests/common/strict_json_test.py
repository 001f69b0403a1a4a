import pytest

from bidaf_plugin.common.strict_json import read_json


class TestReadJson:
    def test_gives_what_json_holds(self) -> None:
        text = '{"a": [1, -2.5e3, 1e-999, null, true], "b": "NaN"}'
        assert read_json(text) == {"a": [1, -2500.0, 0.0, None, True], "b": "NaN"}
        assert read_json('{"a": {"b": 1}}', object_pairs_hook=len) == 1

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1.5e400"])
    def test_refuses_numbers_that_nothing_else_can_read(self, number: str) -> None:
        with pytest.raises(ValueError, match=f"there are no numbers like {number}"):
            read_json(f'{{"id": [{number}]}}')
