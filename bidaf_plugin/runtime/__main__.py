"""
The program in the file that `allennlp bidaf export` writes: Python runs it by the name of the file.
"""

import sys
from pathlib import Path

from bidaf_plugin.runtime.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parent))
