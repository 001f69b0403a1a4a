"""Archives from elsewhere: by URL, and from a hub, both on this machine."""

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Dict, Iterator

import pytest
from allennlp.common import file_utils

import bidaf_plugin
from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.upstream.push_to_hf import make_folder

RECORD = {"question": "Who planted it?", "passage": "It was planted by Ada in 1855."}
REVISION = "0" * 40
REPO = "ada/mill"


class Handler(BaseHTTPRequestHandler):
    """Gives files by their paths, as a hub does."""

    files: Dict[str, bytes] = {}

    def do_HEAD(self) -> None:
        path = self.path.partition("?")[0].replace("/resolve/main/", f"/resolve/{REVISION}/")
        content = self.files.get(path)
        self.send_response(404 if content is None else 200)
        if content is None:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("ETag", f'"{abs(hash(path)):x}"')
        self.send_header("X-Repo-Commit", REVISION)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if self.command == "GET" and content is not None:
            self.wfile.write(content)

    do_GET = do_HEAD

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    monkeypatch.setattr(Handler, "files", {})
    monkeypatch.setattr(file_utils, "CACHE_DIRECTORY", str(tmp_path / "cache"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class TestDownloads:
    def test_of_an_archive(self, address: str, tiny_archive: Path) -> None:
        Handler.files["/models/tiny.tar.gz"] = tiny_archive.read_bytes()
        expected = load_span_predictor(tiny_archive).predict_json(RECORD)
        url = f"{address}/models/tiny.tar.gz"
        assert load_span_predictor(url).predict_json(RECORD) == expected
        qa = bidaf_plugin.pipeline("question-answering", model=url)
        context = RECORD["passage"]
        answer = qa(question=RECORD["question"], context=context)
        assert context[answer["start"] : answer["end"]] == answer["answer"]
        with pytest.raises(DataError, match="cannot download .*none.tar.gz"):
            load_span_predictor(f"{address}/none.tar.gz")

    def test_of_what_push_to_hf_has_written(
        self, address: str, tiny_archive: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "mill"
        make_folder(tiny_archive, folder, REPO)
        paths = [path for path in folder.rglob("*") if path.is_file()]
        names = [path.relative_to(folder).as_posix() for path in paths]
        for name, path in zip(names, paths, strict=True):
            Handler.files[f"/{REPO}/resolve/{REVISION}/{name}"] = path.read_bytes()
        siblings = [{"rfilename": name} for name in names]
        info = {"id": REPO, "modelId": REPO, "sha": REVISION, "siblings": siblings, "tags": []}
        for revision in ("main", REVISION):
            path_of_info = f"/api/models/{REPO}/revision/{revision}"
            Handler.files[path_of_info] = json.dumps({**info, "private": False}).encode()
        program = (
            "import json, sys; from bidaf_plugin.predictors import load_span_predictor; "
            f"predictor = load_span_predictor('hf://{REPO}'); "
            f"print(json.dumps(predictor.predict_json({RECORD!r})))"
        )
        # In a process of its own, since the library reads the hub's address when it is imported.
        cache = {"HF_HOME": str(tmp_path / "hf"), "ALLENNLP_CACHE_ROOT": str(tmp_path / "cache")}
        ended = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **cache, "HF_ENDPOINT": address, "HF_HUB_DISABLE_TELEMETRY": "1"},
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0, ended.stderr
        expected = load_span_predictor(tiny_archive).predict_json(RECORD)
        assert json.loads(ended.stdout) == expected
