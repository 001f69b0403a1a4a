try:
    from bidaf_plugin.fast.dropout import Dropout as Dropout
except ImportError:  # What is fast can be left out.
    from torch.nn import Dropout as Dropout  # type: ignore[assignment]
