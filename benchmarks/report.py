"""
What a run has found, for people and for programs.
"""

import importlib.metadata
import json
import platform
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional

from benchmarks.findings import Findings
from benchmarks.systems import OURS, PEER, PEER_FOLDER, ROOT

PACKAGES = ("torch", "allennlp", "numpy", "spacy")


def format_table(findings: Findings) -> str:
    """The comparison as a markdown table, with what else is worth knowing below it."""
    lines = [
        f"| | {OURS.title} | {PEER.title} | times better | repetitions | |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for measurement in findings.measurements.values():
        ratio = measurement.ratio()
        cells = [
            f"{measurement.title}, {measurement.unit}",
            _format(measurement.median_of(OURS.name)),
            _format(measurement.median_of(PEER.name)),
            "" if ratio is None else f"{ratio:.2f}",
            " / ".join(str(len(values)) for values in measurement.values.values()),
            measurement.note,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines + _format_facts(findings.facts)) + "\n"


def _format(value: Optional[float]) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _format_facts(facts: Dict[str, Any]) -> List[str]:
    lines = [""]
    if "sgemm_gflops" in facts:
        lines.append(f"Machine: sgemm {facts['sgemm_gflops']['median']:.0f} GFLOP/s.")
        for kind, shares in facts["share_of_sgemm"].items():
            gflop = facts["product_gflop_of_a_round"][kind]
            parts = [
                f"{n} {share:.0%} ({gflop[n]:.0f} GFLOP a round)" for n, share in shares.items()
            ]
            lines.append(f"Share of it in matrix products, {kind}: {'; '.join(parts)}.")
    for name, model in facts.get("models", {}).items():
        network = model["trained_parameters"] - model["trained_word_vectors"]
        lines.append(
            f"Parameters, {name}: {network:,} and {model['trained_word_vectors']:,} in words."
        )
    return lines


def versions() -> Dict[str, Optional[str]]:
    """What was measured with what."""
    found: Dict[str, Optional[str]] = {name: importlib.metadata.version(name) for name in PACKAGES}
    of_peer = importlib.metadata.distributions(name="allennlp-models", path=[str(PEER_FOLDER)])
    found["allennlp-models"] = next((item.version for item in of_peer), None)
    found["python"] = platform.python_version()
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    )
    found["bidaf_plugin"] = described.stdout.strip() or None
    return found


def write_results(path: Path, findings: Findings) -> None:
    """The JSON, and the table beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    contents = {
        path: json.dumps(findings.as_dict(), indent=2) + "\n",
        path.with_suffix(".md"): format_table(findings),
    }
    for target, content in contents.items():
        write_whole(target, content)


def write_whole(path: Path, content: str) -> None:
    """Writes a text file that is either whole or not there."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(content, encoding="utf-8")
    temporary.replace(path)
