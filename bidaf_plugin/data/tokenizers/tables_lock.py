"""
The lock of all tables of words. They grow while they are read, so that one thread at a time may use them.

One lock serves all of them, because work on tables is Python's own and hence never parallel; and because
it belongs to no object, tokenizers, lexicons and indexers can be pickled and copied.
"""

import os
from threading import RLock

# It can be taken again by the thread that has it: a table of chunks uses a lexicon.
TABLES_LOCK = RLock()

# A process is forked while no other thread holds the lock. Otherwise the child would wait for ever, and
# its tables would be as that thread had left them.
os.register_at_fork(
    before=TABLES_LOCK.acquire,
    after_in_parent=TABLES_LOCK.release,
    after_in_child=TABLES_LOCK.release,
)
