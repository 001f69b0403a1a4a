"""
The package is described in setup.cfg. Here is what that cannot say: the compiled part, a .pth file beside
the packages (see allennlp_stand_ins.py), and the model and the configs that a wheel carries.
"""

import os
import platform
import shutil
import sys
from copy import copy
from pathlib import Path
from typing import Dict, List

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

# A line that begins with "import" is run when Python starts. It must not fail, not even in an editable
# installation whose folder is gone.
AT_START = (
    'import sys; exec("try: import allennlp_stand_ins; allennlp_stand_ins.install()'
    '\\nexcept Exception: pass")\n'
)

# The compiled part is there once for each kind of processor; which one is loaded is decided when it runs.
FLAGS_OF_KIND: Dict[str, List[str]] = {"generic": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    FLAGS_OF_KIND["avx2"] = ["-mavx2", "-mfma"]
    FLAGS_OF_KIND["avx512"] = ["-mavx512f", "-mavx512vl", "-mavx512bw", "-mavx512dq", "-mfma"]
    FLAGS_OF_KIND["avx512"].append("-mprefer-vector-width=512")
# OpenMP is not linked: its functions are found in the runtime that torch has loaded.
OPENMP_FLAGS = ["-fopenmp"] if sys.platform == "linux" else []
FLAGS = ["-O3", "-std=c++17", "-fno-math-errno", "-fno-trapping-math", *OPENMP_FLAGS]


# What lies beside the package in the repository, and is in its folder where it is installed.
PACKAGED = ("pretrained", "training_configs")


class BuildWithStandIns(build_py):
    def run(self) -> None:
        super().run()
        # An editable installation takes nothing out of build_lib.
        install = self.get_finalized_command("install")
        folder = install.install_lib if self.editable_mode else self.build_lib
        Path(folder, "allennlp_stand_ins.pth").write_text(AT_START, encoding="utf-8")
        if not self.editable_mode:
            for name in PACKAGED:
                shutil.copytree(name, Path(folder, "bidaf_plugin", name), dirs_exist_ok=True)


class BuildApart(build_ext):
    """Each kind has a folder of its own: all come from one file, and are compiled at the same time."""

    def build_extension(self, extension: Extension) -> None:
        apart = copy(self)
        apart.build_temp = os.path.join(self.build_temp, extension.name)
        super(BuildApart, apart).build_extension(extension)


setup(
    cmdclass={"build_py": BuildWithStandIns, "build_ext": BuildApart},
    ext_modules=[
        Extension(
            f"bidaf_plugin.fast._kernels_{kind}",
            ["bidaf_plugin/fast/kernels.cpp"],
            extra_compile_args=[*FLAGS, *flags],
            language="c++",
            # Where there is no compiler, the package is installed without it.
            optional=True,
        )
        for kind, flags in FLAGS_OF_KIND.items()
    ],
)
