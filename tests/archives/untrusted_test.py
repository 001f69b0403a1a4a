"""
Archives of strangers, made to run something, read something, call someone or take all memory.
"""

import argparse
import gzip
import io
import json
import signal
import socket
import subprocess
import sys
import tarfile
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
from allennlp.commands import main
from allennlp.commands.train import train_model
from allennlp.common import Params, cached_transformers
from allennlp.data import Tokenizer
from allennlp.data.tokenizers import WhitespaceTokenizer, spacy_tokenizer
from allennlp.models import load_archive as load_carelessly

from bidaf_plugin.archives import load_predictor, load_span_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.cloze_files import iterate_questions
from tests.archives.helpers import add, change_config, change_weights, read_member, repack
from tests.cloze_helpers import STRICT
from tests.helpers import ROOT, TINY_SQUAD, tiny_params

RECORD = {"question": "Who?", "passage": "It was Ada."}
Change = Callable[[Dict[str, Any]], Any]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("here")
    return path


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> List[Any]:
    """The addresses that somebody wanted to have looked up, which fails."""
    wanted: List[Any] = []

    def look_up(*args: Any, **kwargs: Any) -> None:
        wanted.append(args)
        raise OSError("no network")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return wanted


@contextmanager
def seconds(limit: float) -> Iterator[None]:
    """An error if it takes longer."""

    def stop(*_: Any) -> None:
        pytest.fail("it does not end")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def allennlp(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["allennlp", *map(str, arguments)])
    main()


def evaluate(monkeypatch: pytest.MonkeyPatch, archive: Path, *more: object) -> None:
    allennlp(monkeypatch, "evaluate", archive, TINY_SQUAD, *more)


def predict(monkeypatch: pytest.MonkeyPatch, archive: Path, *more: object) -> None:
    questions = archive.parent / "questions.jsonl"
    questions.write_text(json.dumps(RECORD))
    # AllenNLP ends this command itself.
    with pytest.raises(SystemExit):
        allennlp(monkeypatch, "predict", archive, questions, "--silent", *more)


def put(place: str, value: Any) -> Change:
    def change(config: Dict[str, Any]) -> None:
        *path, key = place.split(".")
        for step in path:
            config = config[step]
        config[key] = value

    return change


@pytest.fixture
def crafted(tiny_archive: Path, tmp_path: Path) -> Callable[[str, Any], Path]:
    """An archive with something else at a place of its config."""

    def craft(place: str, value: Any) -> Path:
        return repack(tiny_archive, tmp_path / "crafted.tar.gz", change_config(put(place, value)))

    return craft


Crafted = Callable[[str, Any], Path]


class TestClasses:
    @pytest.mark.parametrize("place", ["validation_data_loader", "evaluation"])
    def test_evaluate_runs_no_command(
        self, crafted: Crafted, secret: Path, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        archive = crafted(place, {"type": "subprocess.call", "args": ["rm", str(secret)]})
        with pytest.raises(DataError, match="names 'subprocess.call' .*--trust.*trust=True"):
            evaluate(monkeypatch, archive)
        assert secret.exists()

    @pytest.mark.parametrize(
        "tokenizer",
        [
            {
                "type": "pretrained_transformer",
                "model_name": "someone/something",
                "tokenizer_kwargs": {"trust_remote_code": True},
            },
            {"type": "spacy", "language": "someones_package"},
            {"language": "someones_package"},
            "spacy",
        ],
    )
    def test_registered_classes_that_fetch_code(
        self, crafted: Crafted, monkeypatch: pytest.MonkeyPatch, tokenizer: Any
    ) -> None:
        fetched: List[Any] = []

        def fetch(*args: Any, **kwargs: Any) -> None:
            fetched.append(args)
            raise OSError("not fetched")

        monkeypatch.setattr(cached_transformers, "get_tokenizer", fetch)
        monkeypatch.setattr(spacy_tokenizer, "get_spacy_model", fetch)
        archive = crafted("validation_dataset_reader.tokenizer", tokenizer)
        for load in (load_span_predictor, lambda path: predict(monkeypatch, path)):
            with pytest.raises(DataError, match="as a Tokenizer .*which archives may not"):
                load(archive)
        assert not fetched

    @pytest.mark.parametrize(
        "place, value",
        [
            ("dataset_reader", {"type": "os.remove", "path": "SECRET"}),
            ("model.contextual_layer", {"type": "os.remove", "path": "SECRET"}),
            ("model.attention.similarity", "os.getcwd"),
            ("vocabulary", {"type": "os.getcwd"}),
            ("model.contextual_layer.type", "bidaf_plugin.modules.UnpackedLstmEncoder"),
            ("model.contextual_layer.type", None),
            ("model.contextual_layer", ["os.getcwd"]),
            ("validation_data_loader.batch_sampler", {"type": "os.remove", "path": "SECRET"}),
            ("validation_data_loader.collate_fn", {"type": "language_modeling"}),
            ("validation_data_loader.reader", {"type": "interleaving"}),
            ("validation_data_loader.data_path", "SECRET"),
            ("validation_data_loader.num_workers", 100_000),
            ("model.vocab", {"type": "from_files", "directory": "SECRET"}),
            ("model.serialization_dir", "SECRET"),
            ("model.regularizer", {"regexes": [[".*", {"type": "os.remove", "path": "SECRET"}]]}),
            ("evaluation.postprocessor_fn_name", "train"),
            ("model.dropout", {"type": "os.getcwd"}),
            ("validation_dataset_reader.token_indexers.token_characters.max_word_length", 10**9),
        ],
    )
    def test_nothing_else_is_built(
        self,
        crafted: Crafted,
        secret: Path,
        monkeypatch: pytest.MonkeyPatch,
        place: str,
        value: Any,
    ) -> None:
        archive = crafted(place, json.loads(json.dumps(value).replace("SECRET", str(secret))))
        with pytest.raises(DataError, match="config") as error:
            evaluate(monkeypatch, archive)
        assert str(archive) in str(error.value)
        assert len(str(error.value).splitlines()) == 1
        assert secret.exists()

    def test_a_model_from_another_archive(self, crafted: Crafted, calls: List[Any]) -> None:
        model = {"type": "from_archive", "archive_file": "https://example.org/model.tar.gz"}
        archive = crafted("model", model)
        with pytest.raises(DataError, match="'from_archive'"):
            load_predictor(archive)
        assert not calls

    def test_report_runs_no_command(
        self, secret: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run, page = tmp_path / "run", tmp_path / "report.html"
        run.mkdir()
        config = {"model": {"type": "subprocess.call", "args": ["rm", str(secret)]}}
        (run / "config.json").write_text(json.dumps(config))
        allennlp(monkeypatch, "bidaf", "report", run, "-o", page)
        assert secret.exists()
        assert "which archives may not" in page.read_text()


@Tokenizer.register("of_a_user")
class TokenizerOfAUser(WhitespaceTokenizer):
    pass


class TestTrust:
    @pytest.mark.parametrize("name", ["of_a_user", f"{__name__}.TokenizerOfAUser"])
    def test_users_can_trust_their_own(
        self, crafted: Crafted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
    ) -> None:
        archive = crafted("validation_dataset_reader.tokenizer", {"type": name})
        with pytest.raises(DataError, match="--trust, or trust=True in Python"):
            load_span_predictor(archive)
        predictor = load_span_predictor(archive, trust=True)
        assert type(predictor._dataset_reader._tokenizer).__name__ == "TokenizerOfAUser"
        for command in (evaluate, predict):
            with pytest.raises(DataError, match="BIDAF_TRUST=1"):
                command(monkeypatch, archive)
            with monkeypatch.context() as patched:
                patched.setenv("BIDAF_TRUST", "1")
                command(monkeypatch, archive)
        both = tmp_path / "both.tar.gz"
        ensemble = ("bidaf", "ensemble", archive, "--archive", both)
        with pytest.raises(DataError, match="--trust"):
            allennlp(monkeypatch, *ensemble)
        allennlp(monkeypatch, *ensemble, "--trust")
        # Trust goes for the members, too, and ends with the call.
        assert load_span_predictor(both, trust=True)
        with pytest.raises(DataError, match="--trust"):
            load_span_predictor(both)

    def test_every_action_with_an_archive_has_the_option(self) -> None:
        from bidaf_plugin.commands import Action

        for name in Action.list_available():
            parser = argparse.ArgumentParser()
            Action.by_name(name)().add_arguments(parser)
            takes_archive = "model.tar.gz" in parser.format_help() or name in ("serve", "report")
            if takes_archive and name not in ("train-ensemble", "reproduce"):
                assert "--trust" in parser.format_help(), name


class TestPlainJson:
    @pytest.mark.parametrize("expression", ["importstr 'SECRET'", "std.extVar('HOME')"])
    def test_configs_are_no_programs(
        self,
        tiny_archive: Path,
        tmp_path: Path,
        secret: Path,
        monkeypatch: pytest.MonkeyPatch,
        expression: str,
    ) -> None:
        config = json.loads(read_member(tiny_archive, "config.json"))
        config["random_seed"] = "PROGRAM"
        program = expression.replace("SECRET", str(secret))
        text = json.dumps(config).replace('"PROGRAM"', f"std.length({program})")
        archive = repack(
            tiny_archive,
            tmp_path / "program.tar.gz",
            lambda name, content: text.encode() if name == "config.json" else content,
        )
        for command in (evaluate, predict):
            with pytest.raises(DataError, match="plain JSON"):
                command(monkeypatch, archive)

    def test_neither_are_those_of_runs_to_go_on_with(
        self, tmp_path: Path, secret: Path, tiny_config: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = tmp_path / "run"
        run.mkdir()
        (run / "config.json").write_text(f"{{'a': importstr '{secret}'}}")
        with pytest.raises(DataError, match="config.json: not plain JSON"):
            allennlp(monkeypatch, "train", tiny_config, "-s", run, "--recover")

    @pytest.mark.parametrize("text", ["[" * 100_000, '{"model": {"type": NaN}}', "{}" * 2, "\xff"])
    def test_other_texts(self, tiny_archive: Path, tmp_path: Path, text: str) -> None:
        archive = repack(
            tiny_archive,
            tmp_path / "text.tar.gz",
            lambda name, content: text.encode("latin-1") if name == "config.json" else content,
        )
        with pytest.raises(DataError, match="not an archive of a model"):
            load_predictor(archive)


class TestNetworkAndPaths:
    @pytest.mark.parametrize(
        "place, value",
        [
            ("model", {"type": "attention_flow_ensemble", "members": ["https://example.org/a.gz"]}),
            (
                "model.contextual_layer",
                {"_pretrained": {"archive_file": "https://example.org/a.gz", "module_path": "x"}},
            ),
            (
                "model.modeling_layer",
                {
                    "type": "compose",
                    "encoders": [{"_pretrained": {"archive_file": "https://example.org/a.gz"}}],
                },
            ),
        ],
    )
    def test_nobody_is_called(
        self,
        crafted: Crafted,
        calls: List[Any],
        monkeypatch: pytest.MonkeyPatch,
        place: str,
        value: Any,
    ) -> None:
        archive = crafted(place, value)
        for load in (load_predictor, lambda path: evaluate(monkeypatch, path)):
            with pytest.raises(DataError, match=str(archive)):
                load(archive)
        assert not calls

    def test_members_are_below_their_folder(
        self, tiny_archive: Path, crafted: Crafted, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = {"type": "attention_flow_ensemble", "members": [str(tiny_archive)]}
        with pytest.raises(DataError, match="there is no member members/0 in it"):
            evaluate(monkeypatch, crafted("model", model))

    @pytest.mark.parametrize("is_archive", [True, False])
    def test_nothing_is_written_where_the_archive_says(
        self, tiny_archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_archive: bool
    ) -> None:
        """Of earlier versions, when there was a cache; the scores are the same."""
        cache = tmp_path / "cache"

        def change(config: Dict[str, Any]) -> None:
            for reader in ("dataset_reader", "validation_dataset_reader"):
                config[reader]["cache_dir"] = str(cache)

        archive = repack(tiny_archive, tmp_path / "cache.tar.gz", change_config(change))
        if not is_archive:
            with tarfile.open(archive) as source:
                source.extractall(tmp_path / "run", filter="data")
            archive = tmp_path / "run"
        scores = []
        for path in (tiny_archive, archive):
            evaluate(monkeypatch, path, "--output-file", tmp_path / "scores.json")
            scores.append(json.loads((tmp_path / "scores.json").read_text()))
        assert not cache.exists()
        assert scores[0] == scores[1]

    def test_word_vectors_of_the_training_are_not_opened(
        self, crafted: Crafted, calls: List[Any]
    ) -> None:
        for file in ("/no/such/glove.txt", "(https://example.org/glove.zip)#glove.txt"):
            place = "model.text_field_embedder.token_embedders.tokens.pretrained_file"
            assert load_span_predictor(crafted(place, file)).predict("Who?", "It was Ada.")
        assert not calls

    def test_a_vocabulary_that_is_an_archive_itself(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        def edit(name: str, content: bytes) -> Any:
            return None if name.startswith("vocabulary") else content

        content = tiny_archive.read_bytes()
        archive = repack(tiny_archive, tmp_path / "a.tar.gz", edit, vocabulary=content)
        with pytest.raises(DataError, match="there is no folder 'vocabulary' in it"):
            load_predictor(archive)


def negative_member(path: Path, kind: bytes = tarfile.REGTYPE) -> Path:
    """CVE-2025-8194: a header, the second one, that says that the next one is itself."""
    first = tarfile.TarInfo("0.question").tobuf(tarfile.USTAR_FORMAT)
    header = bytearray(tarfile.TarInfo("1.question").tobuf(tarfile.USTAR_FORMAT))
    header[124:136] = (256**12 - 512).to_bytes(12, "big")
    header[156:157] = kind
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    path.write_bytes(gzip.compress(first + bytes(header) + bytes(1024)))
    return path


def negative_pax_size(path: Path) -> Path:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        add(archive, "0.question", b"")
        add(archive, "1.question", b"", pax_headers={"size": "-1536"})
    path.write_bytes(gzip.compress(file.getvalue()))
    return path


class TestSizes:
    @pytest.mark.parametrize(
        "make",
        [
            negative_member,
            lambda path: negative_member(path, tarfile.XHDTYPE),
            lambda path: negative_member(path, tarfile.GNUTYPE_LONGNAME),
            negative_pax_size,
        ],
    )
    def test_negative_sizes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], Path]
    ) -> None:
        archive = make(tmp_path / "negative.tar.gz")
        with seconds(5):
            for load in (load_predictor, lambda path: predict(monkeypatch, path), load_carelessly):
                with pytest.raises((DataError, tarfile.TarError)):
                    load(archive)
            with pytest.raises(DataError, match=str(archive)):
                list(iterate_questions(str(archive), STRICT))

    def test_memory_is_not_taken_before_the_refusal(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        header = tarfile.TarInfo("pax")
        header.type, header.size = tarfile.XHDTYPE, 300 * 1024**2
        pax = tmp_path / "pax.tar.gz"
        with gzip.open(pax, "wb", compresslevel=1) as file:
            file.write(header.tobuf(tarfile.USTAR_FORMAT))
            for _ in range(300):
                file.write(bytes(1024**2))
        paths = [pax]
        for number, (place, value) in enumerate(
            (
                ("model.contextual_layer.hidden_size", 3_000),
                ("model.text_field_embedder.token_embedders.tokens.embedding_dim", 1_000_000),
                ("model.num_highway_layers", 1_000),
                ("model.contextual_layer.num_layers", 10**9),
            )
        ):
            target = tmp_path / f"{number}.tar.gz"
            paths.append(repack(tiny_archive, target, change_config(put(place, value))))
        script = """
import resource, sys
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.archives import load_span_predictor
load_span_predictor(sys.argv[1])
for path in sys.argv[2:]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        load_span_predictor(path)
    except DataError as error:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, error)
"""
        result = subprocess.run(
            [sys.executable, "-c", script, tiny_archive, *paths],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=ROOT,
        )
        lines = result.stdout.splitlines()
        assert len(lines) == len(paths), result.stderr
        for line, expected in zip(
            lines,
            (
                "truncated or damaged",
                "much larger",
                "numbers for each of",
                "much larger",
                "is more than 1,000",
            ),
            strict=True,
        ):
            assert expected in line
            assert int(line.split()[0]) < 50_000  # KB

    def test_words_in_a_file_of_another_name(self, tiny_archive: Path, tmp_path: Path) -> None:
        """AllenNLP takes any file of the vocabulary."""
        place = "model.text_field_embedder.token_embedders.tokens.embedding_dim"
        change = change_config(put(place, 10_000))
        archive = repack(
            tiny_archive,
            tmp_path / "a.tar.gz",
            lambda name, text: None if name == "vocabulary/tokens.txt" else change(name, text),
            **{"vocabulary/tokens": read_member(tiny_archive, "vocabulary/tokens.txt")},
        )
        with pytest.raises(DataError, match="10,000 numbers for each of"):
            load_predictor(archive)

    def test_an_archive_of_nothing_but_zeros(self, tiny_archive: Path, tmp_path: Path) -> None:
        zeros = {"zeros": bytes(200 * 1024**2)}
        archive = repack(tiny_archive, tmp_path / "a.tar.gz", lambda _, content: content, **zeros)
        with pytest.raises(DataError, match="more than .* MB when unpacked"):
            load_predictor(archive)

    def test_headers_without_end(self, tmp_path: Path) -> None:
        archive = tmp_path / "a.tar.gz"
        with tarfile.open(archive, "w:gz", format=tarfile.PAX_FORMAT) as target:
            for number in range(200):
                add(target, str(number), b"", pax_headers={"comment": "x" * 60_000})
        with pytest.raises(DataError, match="headers are too large"):
            load_predictor(archive)

    def test_weights_that_are_compressed(self, tiny_archive: Path, tmp_path: Path) -> None:
        weights = io.BytesIO()
        with zipfile.ZipFile(weights, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("archive/data/0", bytes(1_000_000))
        archive = repack(tiny_archive, tmp_path / "a.tar.gz", change_weights(weights.getvalue()))
        with pytest.raises(DataError, match="larger than the file that has them"):
            load_predictor(archive)

    def test_a_sparse_member(self, tmp_path: Path) -> None:
        archive = tmp_path / "a.tar.gz"
        headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(2**40)}
        with tarfile.open(archive, "w:gz", format=tarfile.PAX_FORMAT) as target:
            add(target, "weights.th", b"", pax_headers=headers)
        with pytest.raises(DataError, match="'weights.th' leads out"):
            load_predictor(archive)


class TestWhatIsAllowed:
    @pytest.mark.parametrize(
        "path",
        sorted((ROOT / "training_configs").rglob("*.jsonnet")),
        ids=lambda path: str(path.relative_to(ROOT / "training_configs")),
    )
    def test_every_config_of_ours_but_that_with_a_transformer(self, path: Path) -> None:
        from bidaf_plugin.archives.config_check import check_config

        params = Params.from_file(path).as_dict(quiet=True)
        if path.stem == "bidaf_transformer":
            # It names a model to be downloaded from wherever the config says.
            with pytest.raises(DataError, match="'pretrained_transformer_mismatched'.*--trust"):
                check_config(params, path)
        else:
            check_config(params, path)

    def test_models_of_allennlps_parts(self, tmp_path: Path) -> None:
        params = tiny_params("lstm:: 'lstm'")
        embedders = params["model"]["text_field_embedder"]["token_embedders"]
        embedders["tokens"] = {"type": "embedding", "embedding_dim": 6}
        for reader in ("dataset_reader", "validation_dataset_reader"):
            params[reader]["token_indexers"] = {
                "tokens": {"type": "single_id", "lowercase_tokens": True},
                "token_characters": {"type": "characters", "min_padding_length": 5},
            }
            params[reader]["tokenizer"] = {"type": "whitespace"}
        train_model(Params(params), str(tmp_path / "run"))
        assert load_span_predictor(tmp_path / "run").predict("Who?", "It was Ada.")
