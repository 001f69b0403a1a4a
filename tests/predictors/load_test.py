import io
import json
import tarfile
from pathlib import Path
from typing import Any, Callable, Dict, Optional

import pytest
import torch

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import (
    ClozePredictor,
    SpanPredictor,
    load_predictor,
    load_span_predictor,
)


def repack(
    archive: Path, target: Path, edit: Callable[[str, bytes], Optional[bytes]], **new: bytes
) -> Path:
    """A copy of an archive with changed members (None: without), and new ones."""
    with tarfile.open(archive) as source, tarfile.open(target, "w:gz") as copy:
        members = {m.name: source.extractfile(m) for m in source if m.isfile()}
        contents = {name: edit(name, file.read()) for name, file in members.items() if file}
        for name, content in {**contents, **new}.items():
            if content is not None:
                add(copy, name, content)
    return target


def add(archive: tarfile.TarFile, name: str, content: bytes, **settings: Any) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for key, value in settings.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(content))


def change_config(change: Callable[[Dict[str, Any]], Any]) -> Callable[[str, bytes], bytes]:
    def edit(name: str, content: bytes) -> bytes:
        if name != "config.json":
            return content
        config = json.loads(content)
        change(config)
        return json.dumps(config).encode()

    return edit


def change_weights(content: bytes) -> Callable[[str, bytes], bytes]:
    return lambda name, old: content if name == "weights.th" else old


class TestLoad:
    def test_loads_archives_and_folders_of_runs(self, tiny_archive: Path) -> None:
        for path in (tiny_archive, str(tiny_archive), tiny_archive.parent):
            predictor = load_span_predictor(path, max_answer_length=1)
            assert isinstance(predictor, SpanPredictor)
            first, last = predictor.predict("Who?", "It was Ada.")["best_span"]
            assert first == last

    def test_loads_cloze_models_where_they_will_do(self, tiny_cloze_archive: Path) -> None:
        assert isinstance(load_predictor(tiny_cloze_archive), ClozePredictor)
        with pytest.raises(DataError, match="not a model that answers with spans"):
            load_span_predictor(tiny_cloze_archive, n_best=5)

    def refuse(self, path: Path, message: str) -> None:
        with pytest.raises(DataError, match=message) as error:
            load_span_predictor(path)
        assert str(path) in str(error.value)
        assert len(str(error.value).splitlines()) == 1

    def test_what_is_not_an_archive(self, tiny_archive: Path, tmp_path: Path) -> None:
        self.refuse(tmp_path / "absent.tar.gz", "no such file")
        text = tmp_path / "text.tar.gz"
        text.write_text("hello")
        self.refuse(text, "truncated or damaged")
        empty = tmp_path / "empty"
        empty.mkdir()
        self.refuse(empty, "not an archive of a model")
        for number, edit in enumerate(
            (
                lambda name, content: None if name == "config.json" else content,
                lambda name, content: b"[]" if name == "config.json" else content,
                lambda name, content: b"{" if name == "config.json" else content,
            )
        ):
            path = repack(tiny_archive, tmp_path / f"{number}.tar.gz", edit)
            self.refuse(path, "not an archive of a model")

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
    def test_truncated_archives(self, tiny_archive: Path, tmp_path: Path, share: float) -> None:
        content = tiny_archive.read_bytes()
        path = tmp_path / "model.tar.gz"
        path.write_bytes(content[: int(share * len(content))])
        self.refuse(path, "truncated or damaged")

    def test_models_of_others(self, tiny_archive: Path, tmp_path: Path) -> None:
        for name in ("basic_classifier", "no_such_model", "os.system"):
            edit = change_config(lambda config, name=name: config["model"].update(type=name))
            path = repack(tiny_archive, tmp_path / "other.tar.gz", edit)
            self.refuse(path, f"a model of type '{name}'")

    def test_weights_that_hold_more_than_tensors(self, tiny_archive: Path, tmp_path: Path) -> None:
        file = io.BytesIO()
        torch.save({"evil": print}, file)
        edit = change_weights(file.getvalue())
        path = repack(tiny_archive, tmp_path / "evil.tar.gz", edit)
        self.refuse(path, "more than tensors")

    def test_weights_that_are_damaged_or_of_another_model(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        with tarfile.open(tiny_archive) as archive:
            weights = archive.extractfile("weights.th")
            assert weights is not None
            content = weights.read()
        path = repack(tiny_archive, tmp_path / "half.tar.gz", change_weights(content[:-500]))
        self.refuse(path, "weights cannot be loaded")
        edit = change_config(
            lambda config: config["model"].update(num_highway_layers=1)
        )
        path = repack(tiny_archive, tmp_path / "other.tar.gz", edit)
        self.refuse(path, "weights cannot be loaded")
        path = repack(
            tiny_archive,
            tmp_path / "none.tar.gz",
            lambda name, content: None if name == "weights.th" else content,
        )
        self.refuse(path, "there is no")

    @pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/tmp/evil"])
    def test_members_that_lead_out(self, tiny_archive: Path, tmp_path: Path, name: str) -> None:
        (tmp_path / "x").mkdir()
        target = tmp_path / "x" / "model.tar.gz"
        path = repack(tiny_archive, target, lambda _, content: content, **{name: b""})
        self.refuse(path, "leads out of the archive")
        assert not list(tmp_path.rglob("evil"))

    def test_links(self, tmp_path: Path) -> None:
        path = tmp_path / "model.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            add(archive, "config.json", b"", type=tarfile.SYMTYPE, linkname="/etc/hostname")
        self.refuse(path, "leads out of the archive")
