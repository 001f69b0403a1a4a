"""
Folders of training runs that tests write.
"""

import json
from pathlib import Path
from typing import Any, Dict, Optional

from tests.helpers import tiny_params

EPOCHS = [
    {
        "epoch": 0,
        "best_epoch": 0,
        "training_loss": 4.0,
        "validation_loss": 3.0,
        "validation_f1": 10.0,
    },
    {
        "epoch": 1,
        "best_epoch": 1,
        "training_loss": 2.0,
        "validation_loss": 2.5,
        "validation_f1": 30.0,
    },
    {
        "epoch": 2,
        "best_epoch": 1,
        "training_loss": 1.0,
        "validation_loss": 2.6,
        "validation_f1": 20.0,
    },
]


def write_run(
    folder: Path,
    num_epochs: int = len(EPOCHS),
    metrics: Optional[Dict[str, Any]] = None,
    config: Optional[Dict[str, Any]] = None,
    log: str = "",
) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config or tiny_params()))
    (folder / "out.log").write_text(log)
    for epoch in EPOCHS[:num_epochs]:
        values = {
            **epoch,
            "best_validation_f1": EPOCHS[int(epoch["best_epoch"])]["validation_f1"],
            "training_duration": f"0:0{epoch['epoch']}:30.5",
            "training_worker_0_memory_MB": 100.0,
            "peak_worker_0_memory_MB": 1234.5,
            "validation__hidden": 1.0,
        }
        (folder / f"metrics_epoch_{epoch['epoch']}.json").write_text(json.dumps(values))
    if metrics is not None:
        (folder / "metrics.json").write_text(json.dumps(metrics))
    return folder
