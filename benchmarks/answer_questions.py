"""
Loads an archive, or what `allennlp bidaf export` made of it, answers questions and says how long both
took: a program for `benchmarks.exported`, which runs it in a process of its own.
"""

import json
import sys
import time

START = time.perf_counter()


def main(kind: str, path: str, questions_path: str, answers_path: str) -> None:
    if kind == "archive":
        from bidaf_plugin.archives.load import load_span_predictor

        answer = load_span_predictor(path).predict_batch_json
    else:
        for name in ("allennlp", "bidaf_plugin", "spacy"):
            # Importing them is an error from now on.
            sys.modules[name] = None  # type: ignore[assignment]
        sys.path.insert(0, path)
        from bidaf_answer import ExportedModel

        answer = ExportedModel(path).answer_all
    loaded = time.perf_counter()
    with open(questions_path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    before = time.perf_counter()
    answers = answer(records)
    after = time.perf_counter()
    with open(answers_path, "w", encoding="utf-8") as file:
        json.dump(answers, file)
    print(json.dumps({"load": loaded - START, "answer": after - before}))


if __name__ == "__main__":
    main(*sys.argv[1:])
