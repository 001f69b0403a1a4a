"""
Loads an archive, or what `allennlp bidaf export` made of it, answers questions and says how long that took: a
program for `benchmarks.exported`, which runs it in a process of its own.
"""

import json
import sys
import time

START = time.perf_counter()


def main(kind: str, path: str, questions_path: str, answers_path: str, num_singles: str) -> None:
    if kind == "archive":
        from bidaf_plugin.archives.load import load_span_predictor

        answer = load_span_predictor(path).predict_batch_json
    else:
        for name in ("torch", "allennlp", "bidaf_plugin", "spacy"):
            # Importing them is an error from now on.
            sys.modules[name] = None  # type: ignore[assignment]
        sys.path.insert(0, path)
        from bidaf_answer import load

        answer = load(path).answer_all
    loaded = time.perf_counter()
    with open(questions_path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    # The first questions, one after the other.
    singles, milliseconds = [], []
    for record in records[: int(num_singles)]:
        before = time.perf_counter()
        singles += answer([record])
        milliseconds.append(1000 * (time.perf_counter() - before))
    before = time.perf_counter()
    answers = answer(records)
    seconds = time.perf_counter() - before
    with open(answers_path, "w", encoding="utf-8") as file:
        json.dump({"single": singles, "batch": answers}, file)
    milliseconds.sort()
    p50 = milliseconds[len(milliseconds) // 2] if milliseconds else 0.0
    print(json.dumps({"load": loaded - START, "answer": seconds, "p50": p50}))


if __name__ == "__main__":
    main(*sys.argv[1:])
