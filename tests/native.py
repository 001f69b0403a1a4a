import pytest

from bidaf_plugin.fast import bilstm

# For tests of what is compiled when the package is installed.
native_only = pytest.mark.skipif(
    not bilstm.is_built(), reason="the native kernels have not been built: there was no compiler"
)
