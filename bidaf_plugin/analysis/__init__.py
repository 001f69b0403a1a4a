"""
What a model answers, and why.

- Answers: `answering`, the files that they come from and go to (`files`), `question_evaluator`.
- How good they are: `scores`, `score_report`, `comparison` and its `comparison_files` and `venn`, `calibration`,
  `wrong_answers`.
- Training runs: `training_run`, `run_report`, `variants`, `reproduction`.
- What the model sees: `attention` and `attention_files`, `saliency`, `word_spaces`, `word_map`.
- How all of it is shown: `formats` for texts, `figures` for pictures.
"""

from bidaf_plugin.analysis.question_evaluator import QuestionEvaluator as QuestionEvaluator
