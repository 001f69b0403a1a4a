from pathlib import Path
from typing import List, Sequence

from bidaf_plugin.archives import load_predictor
from bidaf_plugin.archives.packaged import packaged_archive
from bidaf_plugin.predictors import ClozePredictor
from bidaf_plugin.server.served_cloze_model import ServedClozeModel
from bidaf_plugin.server.served_model import ServedModel
from bidaf_plugin.server.served_span_model import ServedSpanModel


def load_models(archives: Sequence[str], cuda_device: int = -1) -> List[ServedModel]:
    """
    # Parameters

    archives : `Sequence[str]`
        Paths, folders of training runs or URLs; if there are none, the packaged model is meant.
    cuda_device : `int`, optional (default = `-1`)
        -1 for the CPU.
    """
    models: List[ServedModel] = []
    archives = archives or [packaged_archive()]
    for name, archive in zip(names_of(archives), archives, strict=True):
        predictor = load_predictor(archive, cuda_device)
        is_cloze = isinstance(predictor, ClozePredictor)
        models.append((ServedClozeModel if is_cloze else ServedSpanModel)(name, predictor))
    return models


def names_of(archives: Sequence[str]) -> List[str]:
    """What requests call the models: the name of a training run's folder, or of a file. All differ."""
    names: List[str] = []
    for archive in archives:
        path = Path(archive)
        stem = path.name.removesuffix(".gz").removesuffix(".tar")
        # `model` is what all training runs call their archive.
        name = (path.absolute().parent.name if stem == "model" else stem) or "model"
        count = 2
        unique = name
        while unique in names:
            unique, count = f"{name}-{count}", count + 1
        names.append(unique)
    return names
