"""
What a model answers, and why: files of predictions, scores, comparisons, reports; attention, neighbours, maps of
words, saliency; and the figures, tables and pages that show them.
"""

from bidaf_plugin.analysis.question_evaluator import QuestionEvaluator as QuestionEvaluator
