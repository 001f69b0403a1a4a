import pytest

from bidaf_plugin.fast import native

# For tests of what is compiled when the package is installed.
native_only = pytest.mark.skipif(
    native.library() is None, reason="the native kernels have not been built: there was no compiler"
)
