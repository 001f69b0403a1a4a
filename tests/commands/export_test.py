import argparse
from pathlib import Path
from typing import List

import pytest
from onnx import TensorProto, load

from bidaf_plugin.commands import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.runtime.session import Session


def run(*arguments: str) -> None:
    action = Action.by_name("export")()
    parser = argparse.ArgumentParser()
    action.add_arguments(parser)
    action.run(parser.parse_args(arguments))


class TestExport:
    def test_writes_the_file_and_says_what_it_needs(
        self, tiny_archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "model.zip"
        run(str(tiny_archive), str(out))
        printed = capsys.readouterr().out
        assert f"{out}: {out.stat().st_size:,} bytes; it needs onnxruntime and numpy" in printed
        assert f"Try it: python {out} --question" in printed
        assert list(tmp_path.iterdir()) == [out]

    def test_the_network_alone_with_what_was_asked_for(
        self, tiny_archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        card, out = tmp_path / "card.md", tmp_path / "model.onnx"
        card.write_text("# A model\n", encoding="utf-8")
        texts = ["--licence", "CC0", "--card", str(card)]
        run(str(tiny_archive), str(out), "--int8", "--attention", *texts)
        session = Session(out)
        assert (session.metadata["licence"], session.metadata["card"]) == ("CC0", "# A model\n")
        assert session.output_names[2:] == [
            "passage_question_attention",
            "question_passage_attention",
        ]
        assert any(tensor.data_type == TensorProto.INT8 for tensor in load(out).graph.initializer)
        assert "Try it" not in capsys.readouterr().out

    def test_a_file_is_replaced_only_if_asked(self, tiny_archive: Path, tmp_path: Path) -> None:
        out = tmp_path / "model.zip"
        out.write_text("mine")
        with pytest.raises(DataError, match="model.zip exists: use --force"):
            run(str(tiny_archive), str(out))
        with pytest.raises(DataError, match="exists"):
            run(str(tiny_archive), str(tmp_path), "--force")
        assert out.read_text() == "mine"
        run(str(tiny_archive), str(out), "--force")
        assert out.stat().st_size > 10_000

    def test_bad_archives_are_refused(
        self, tiny_archive: Path, tiny_cloze_archive: Path, tmp_path: Path
    ) -> None:
        half = tmp_path / "half.tar.gz"
        half.write_bytes(tiny_archive.read_bytes()[:20_000])
        text = tmp_path / "text.tar.gz"
        text.write_text("no archive")
        out: List[str] = [str(tmp_path / "model.zip")]
        for archive in (half, text, tiny_cloze_archive, tmp_path / "none.tar.gz"):
            with pytest.raises(DataError, match=archive.name):
                run(str(archive), *out)
        with pytest.raises(DataError, match="there is no such folder"):
            run(str(tiny_archive), str(tmp_path / "no" / "model.zip"))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["half.tar.gz", "text.tar.gz"]
