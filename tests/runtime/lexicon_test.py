import os
import time
from threading import Event, Thread

from bidaf_plugin.runtime.lexicon import TABLES_LOCK, Lexicon
from tests.thread_helpers import run_together


class SlowWord(str):
    """Lets another thread go on while it is looked up."""

    def __hash__(self) -> int:
        time.sleep(0)
        return super().__hash__()


WORDS = [SlowWord(f"word{number}") for number in range(300)]


class TestLexicon:
    def test_numbers_words_in_the_order_in_which_they_come(self) -> None:
        lexicon = Lexicon(["b", "a"])
        assert lexicon.numbers(["a", "c", "b", "c"]).tolist() == [1, 2, 0, 2]
        assert lexicon.words == ["b", "a", "c"]
        assert len(lexicon) == 3

    def test_threads_agree_on_the_numbers(self) -> None:
        lexicon = Lexicon()
        # Each meets the words in another order.
        orders = [WORDS[50 * thread :] + WORDS[: 50 * thread] for thread in range(4)]
        found = run_together(
            lambda thread: [lexicon.numbers([word])[0] for word in orders[thread]], 4
        )
        for words, numbers in zip(orders, found, strict=True):
            assert [lexicon.words[number] for number in numbers] == words
        assert len(lexicon) == len(WORDS)

    def test_a_forked_process_can_take_the_lock(self) -> None:
        is_held, may_end = Event(), Event()

        def hold() -> None:
            with TABLES_LOCK:
                is_held.set()
                may_end.wait(1)

        thread = Thread(target=hold)
        thread.start()
        is_held.wait()
        process = os.fork()
        if process == 0:
            # The thread that holds the lock is not in this process.
            os._exit(0 if TABLES_LOCK.acquire(timeout=5) else 1)
        may_end.set()
        thread.join()
        _, status = os.waitpid(process, 0)
        assert os.waitstatus_to_exitcode(status) == 0
