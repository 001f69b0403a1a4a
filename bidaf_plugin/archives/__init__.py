"""
Archives and folders of training runs: `load.py` is the one door through which all commands take them in.
"""
