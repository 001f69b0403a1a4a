import json
import os
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.run import open_socket
from tests.command_line_test import ALLENNLP, ENVIRONMENT
from tests.commands.helpers import run_action
from tests.helpers import ROOT


class TestServe:
    def test_serves_until_it_is_told_to_stop(self, tiny_archive: Path, tmp_path: Path) -> None:
        log = tmp_path / "access.jsonl"
        process = subprocess.Popen(
            [ALLENNLP, "bidaf", "serve", str(tiny_archive), "--port", "0", "--log-file", str(log)],
            cwd=ROOT,
            env={**ENVIRONMENT, "ALLENNLP_LOG_LEVEL": "ERROR"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("Serving run at http://127.0.0.1:")
            address = line.split()[3]
            body = {"question": "Who?", "passage": "It was Ada."}
            answer = httpx.post(f"{address}/api/answer", json=body, timeout=30)
            assert answer.status_code == 200
            process.send_signal(signal.SIGTERM)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == 0, errors
        assert (output, errors) == ("", "")
        (request,) = map(json.loads, log.read_text().splitlines())
        assert (request["path"], request["status"]) == ("/api/answer", 200)

    def test_what_is_wrong_is_one_sentence(self, tiny_archive: Path, tmp_path: Path) -> None:
        no_archive = str(tmp_path / "no.tar.gz")
        with open_socket("127.0.0.1", 0) as opened:
            opened.listen()
            port = opened.getsockname()[1]
            for arguments, message in (
                ([no_archive, "--port", 0], "no.tar.gz: there is no such file"),
                ([no_archive, "--port", port], f"port {port} .*in use"),
                ([no_archive, "--port", 65536], "--port must be between 0 and 65535"),
                ([no_archive, "--max-queue", 0], "--max-queue must be at least 1"),
                ([no_archive, "--timeout", "nan"], "--timeout must be more than 0"),
                ([no_archive, "--max-batch-wait", -1], "--max-batch-wait must not be negative"),
            ):
                with pytest.raises(DataError, match=message):
                    run_action("serve", *arguments)
        with pytest.raises(FileNotFoundError):
            run_action("serve", no_archive, "--port", 0, "--log-file", tmp_path / "no" / "log")
        assert os.listdir(tmp_path) == []
