"""
The `allennlp` command for allennlp-models: `python -m benchmarks.peer_command predict ...`.

AllenNLP imports the whole of allennlp-models by itself when it is installed, and that fails on today's
setuptools (one of its summarisation packages needs `pkg_resources`). Its BiDAF needs only the part `rc`.
"""

from allennlp.__main__ import run
from allennlp.common import plugins

if __name__ == "__main__":
    plugins.DEFAULT_PLUGINS = ("allennlp_models.rc",)
    run()
