import io
import json
from typing import Any

import pytest

from bidaf_plugin.common import json_stream
from bidaf_plugin.common.json_stream import JsonStream


class Trickle(io.StringIO):
    """Gives a character at a time, however many are asked for."""

    def read(self, size: Any = -1) -> str:
        return super().read(1)


def read_everything(stream: JsonStream) -> Any:
    if stream.peek() == "{":
        return {key: read_everything(stream) for key in stream.object_keys()}
    if stream.peek() == "[":
        return [read_everything(stream) for _ in stream.array_items()]
    return stream.value()


class TestJsonStream:
    def test_reads_what_json_reads_wherever_the_text_is_cut(self) -> None:
        value: Any = {
            "a": [1, -2.5e10, True, None, [], {}, ["x", {"y": {}}]],
            'q"\\': "é𝄞\n" * 3,
            "": {"nested": [[[]]]},
        }
        for text in (json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
            for file_class in (Trickle, io.StringIO):
                assert read_everything(JsonStream(file_class(f" {text} "))) == value
                assert JsonStream(file_class(text)).value() == value

    def test_a_number_may_go_on_where_the_text_is_cut(self) -> None:
        assert JsonStream(Trickle("123456")).value() == 123456

    def test_holds_no_more_than_a_value(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(json_stream, "_CHARACTERS_PER_READ", 100)
        stream = JsonStream(io.StringIO(json.dumps(["x" * 50] * 1000)))
        for _ in stream.array_items():
            stream.value()
            assert len(stream._text) <= 300

    @pytest.mark.parametrize(
        "text, message",
        [
            ('["a" "b"]', "expected ',' or ']', found '\"' at character 5"),
            ('["a", nonsense, "b"]', "Expecting value at character 6"),
            ('["a", "b', "Unterminated string starting at at character 6"),
            ('["a"', "found 'the end'"),
            ("{1: 2}", "expected '\"', found '1'"),
            ('{"a" 2}', "expected ':'"),
            ("", "expected"),
        ],
    )
    def test_what_is_not_json_is_a_value_error_with_its_place(
        self, text: str, message: str
    ) -> None:
        for file_class in (Trickle, io.StringIO):
            with pytest.raises(ValueError, match=message.replace("[", r"\[")):
                stream = JsonStream(file_class(text))
                read_everything(stream) if text else next(stream.array_items())

    def test_a_fault_is_found_before_the_rest_is_read(self) -> None:
        file = io.StringIO('{"a": nonsense' + " " * 1_000_000)
        with pytest.raises(ValueError):
            JsonStream(file).value()
        assert file.tell() < 100_000
