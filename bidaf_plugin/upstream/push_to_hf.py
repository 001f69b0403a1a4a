"""
`allennlp push-to-hf`, with what the library of the Hub has today: AllenNLP calls what is not there any more.
"""

import os
import shutil
from os import PathLike
from pathlib import Path
from typing import Optional, Union

from allennlp.commands import push_to_hf as command
from allennlp.common import push_to_hf as function
from allennlp.models import archival

from bidaf_plugin.archives.load import opened_archive
from bidaf_plugin.common.errors import DataError

# What an archive has, and what tells of the training, but no checkpoints.
_NAMES = ("config.json", "meta.json", "metrics.json", "vocabulary", "members", "log")
_WEIGHTS = "weights.th"
_CARD = """---
tags:
- allennlp
---

# {name}

A model for reading comprehension, [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603), trained with
the AllenNLP plugin bidaf_plugin:

```python
from bidaf_plugin.predictors import load_span_predictor

predictor = load_span_predictor("hf://{repo}")
```
"""


def push_to_hf(
    repo_name: str,
    serialization_dir: Optional[Union[str, PathLike]] = None,
    archive_path: Optional[Union[str, PathLike]] = None,
    organization: Optional[str] = None,
    commit_message: str = "Update repository",
    local_repo_path: Union[str, PathLike] = "hub",
    use_auth_token: Union[bool, str] = True,
) -> str:
    """
    What AllenNLP's function of this name does: makes a folder `local_repo_path`/`repo_name` of the model, and
    uploads it. `load_predictor` takes the folder, and `hf://` with the name of the repository.

    # Returns

    `str`
        The address of the repository.
    """
    if (serialization_dir is None) == (archive_path is None):
        raise DataError("give either the folder of a training run or an archive")
    from huggingface_hub import HfApi

    api = HfApi(token=use_auth_token)
    owner = organization or api.whoami()["name"]
    repo = f"{owner}/{repo_name}"
    folder = Path(local_repo_path, repo_name)
    make_folder(serialization_dir or archive_path, folder, repo)  # type: ignore[arg-type]
    address = api.create_repo(repo, exist_ok=True)
    api.upload_folder(repo_id=repo, folder_path=folder, commit_message=commit_message)
    return str(address)


def make_folder(source: Union[str, PathLike], folder: Path, repo: str) -> None:
    """Writes what is needed of an archive, or of the folder of a training run, and a model card if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    with opened_archive(source) as opened:
        for path in (Path(opened, name) for name in _NAMES):
            if path.is_dir():
                # Not the lock of the vocabulary: what is downloaded consists of links, and this cannot be one.
                ignored = shutil.ignore_patterns(".*")
                shutil.copytree(path, folder / path.name, ignore=ignored, dirs_exist_ok=True)
            elif path.exists():
                shutil.copyfile(path, folder / path.name)
        shutil.copyfile(archival.get_weights_path(opened), folder / _WEIGHTS)
    card = folder / "README.md"
    if not card.exists():
        card.write_text(_CARD.format(name=os.path.basename(repo), repo=repo), encoding="utf-8")


def install() -> None:
    function.push_to_hf = command.push_to_hf = push_to_hf
