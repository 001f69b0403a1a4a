"""
What keeps AllenNLP 2.10.1 in use on today's Python and torch, applied when the plugin is imported.
This is the whole list; a name with a folder is of another room, which a file of this one puts to use:

| what goes wrong without it | where it is put right |
|---|---|
| the moving average is lost after `--recover` | `replaced_classes.py` |
| dropout after `--recover` differs from an uninterrupted run | `checkpoints.py` |
| data after `--recover` comes in another order | `trainer.py` |
| metrics of an epoch that was interrupted are too low | `checkpoints.py` |
| `--recover` of a finished run drops metrics | `trainer.py` |
| a run killed between two files ends without its best weights | `trainer.py` |
| a run killed while it saves cannot be recovered | `checkpoints.py` |
| `--recover` fails if the newest checkpoint is damaged | `checkpoints.py` |
| a full disk leaves part of a model.tar.gz | `small_fixes.write_whole_archives` |
| a folder that cannot be written is found out late | `small_fixes.check_before_training` |
| hosts wait half an hour for one that has died | `distributed.py` |
| hosts go on from different checkpoints | `checkpoints.py` |
| distributed validation leaves out questions | `trainer.py` |
| training without any data ends with a model | `trainer.py` |
| misspelt keys of the trainer are passed over | `trainer.py` |
| `evaluate_on_test` breaks off distributed training at its end | `trainer.py` |
| the scheduler `reduce_on_plateau` raises a TypeError | `replaced_classes.py` |
| `--recover` fails on numpy numbers in a checkpoint | `small_fixes.allow_numpy_numbers` |
| configs that come with the package are found in its repository alone | `small_fixes.find_packaged_configs` |
| warnings about calls that AllenNLP makes | `small_fixes.silence_known_warnings` |
| the tokenizers of transformers cannot be loaded | `small_fixes.load_tokenizers_of_transformers` |
| misspelt names are looked for with nltk, which is not installed | `small_fixes.suggest_names` |
| 150 lines about parameters and weights on the console | `console.py` |
| `evaluate` does not show what it has measured | `console.py` |
| a download that fails takes 38 seconds, and does not say what to do | `console.py` |
| a traceback where the user's input is at fault | `console.py` |
| tracebacks of workers of the data loader that are told to end | `small_fixes.let_workers_end` |
| an archive can write files anywhere, or take all memory | `archives/load.py`, `archives/size_check.py`, `common/tar_files.py` |
| an archive can run code, read files and call addresses | `archives/config_check.py` |
| `simple-gradient` multiplies all gradients by the first word | `replaced_classes.py` |
| `hotflip` knows only some of AllenNLP's token indexers | `replaced_classes.py` |
| `push-to-hf` calls what the library of the Hub does not have any more | `push_to_hf.py` |
| `predict` does not name the bad line, and takes one question at a time | `predict_manager.py` |
"""

from functools import cache

from bidaf_plugin.upstream import (
    checkpoints,
    console,
    distributed,
    predict_manager,
    push_to_hf,
    small_fixes,
    trainer,
)
from bidaf_plugin.upstream import replaced_classes as replaced_classes


@cache
def apply_upstream_fixes() -> None:
    """Everything in the table above that is not a class registered by its own import; once."""
    for repairs in (
        console,
        small_fixes,
        predict_manager,
        push_to_hf,
        checkpoints,
        distributed,
        trainer,
    ):
        repairs.install()
