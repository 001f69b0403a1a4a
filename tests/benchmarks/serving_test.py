import json
from pathlib import Path

from benchmarks.serving import main


def test_a_short_load(tiny_archive: Path, tmp_path: Path) -> None:
    output = tmp_path / "serving.json"
    arguments = [str(tiny_archive), "--quick", "--clients", "4", "--seconds", "1"]
    assert main([*arguments, "--output", str(output)]) == 0
    figures = json.loads(output.read_text())
    for load, clients in ((figures["one"], 1), (figures["many"], 4)):
        assert (load["clients"], load["errors"]) == (clients, 0)
        assert 0 < load["milliseconds"]["p50"] <= load["milliseconds"]["p99"]
    stop = figures["stop"]
    assert (stop["exit_code"], stop["requests_without_response"]) == (0, 0)
    assert stop["answers_received"] == stop["answered_by_the_server"] > 0
