"""
The package is described in setup.cfg. Here is only its compiled part, once for each kind of processor; which
one is loaded is decided when it runs. Where there is no compiler the package is installed without it.
"""

import platform
import sys
from typing import Dict, List

from setuptools import Extension, setup

_FLAGS_OF_KIND: Dict[str, List[str]] = {"generic": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    _FLAGS_OF_KIND["avx2"] = ["-mavx2", "-mfma"]
    _FLAGS_OF_KIND["avx512"] = ["-mavx512f", "-mavx512vl", "-mavx512bw", "-mavx512dq", "-mfma"]
    _FLAGS_OF_KIND["avx512"].append("-mprefer-vector-width=512")

# OpenMP is not linked: its symbols are found in the runtime that torch has loaded.
_OPENMP = ["-fopenmp"] if sys.platform == "linux" else []

setup(
    ext_modules=[
        Extension(
            f"bidaf_plugin.fast._kernels_{kind}",
            ["bidaf_plugin/fast/kernels.cpp"],
            extra_compile_args=["-O3", "-std=c++17", "-fno-math-errno", "-fno-trapping-math"]
            + _OPENMP
            + flags,
            language="c++",
            optional=True,
        )
        for kind, flags in _FLAGS_OF_KIND.items()
    ]
)
