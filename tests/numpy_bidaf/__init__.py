"""
The equations of "Bi-Directional Attention Flow for Machine Comprehension" (Seo et al., ICLR 2017) in
plain NumPy, written from the paper to check the plugin against it. Everything is done for one example
at a time, word by word, in double precision: there are no batches, no padding and no masks.

The matrices of the paper hold a word in each column; here it is a row, so that the paper's `H_:t` is
`H[t]`. Where the paper leaves a detail open (what a convolution sees beyond the end of a word, the
biases, what the end layer reads) the docstring says what is done.

`layers` has the paper's layers, `variants` what takes their place in the other rows of its tables and
in what goes beyond it, `cloze` its other output layer, and `network` puts them together with the parameters of a model of the plugin.
"""

from tests.numpy_bidaf.cloze import entity_probabilities as entity_probabilities
from tests.numpy_bidaf.cloze import is_entity as is_entity
from tests.numpy_bidaf.cloze import split_into_windows as split_into_windows
from tests.numpy_bidaf.layers import Array as Array
from tests.numpy_bidaf.layers import best_span as best_span
from tests.numpy_bidaf.network import Choices as Choices
from tests.numpy_bidaf.network import NumpyBidaf as NumpyBidaf
from tests.numpy_bidaf.network import Text as Text
