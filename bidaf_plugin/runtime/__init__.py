"""
Answers questions with a file that `allennlp bidaf export` wrote. It needs numpy and onnxruntime, and nothing
else: `export` copies this folder into the zip files that it writes.
"""
