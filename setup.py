"""What setup.cfg cannot say: a .pth file goes beside the packages (see allennlp_stand_ins.py)."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# A line that begins with "import" is run when Python starts. It must not fail, not even in an editable
# installation whose folder is gone.
AT_START = (
    'import sys; exec("try: import allennlp_stand_ins; allennlp_stand_ins.install()'
    '\\nexcept Exception: pass")\n'
)


class BuildWithStandIns(build_py):
    def run(self) -> None:
        super().run()
        # An editable installation takes nothing out of build_lib.
        install = self.get_finalized_command("install")
        folder = install.install_lib if self.editable_mode else self.build_lib
        Path(folder, "allennlp_stand_ins.pth").write_text(AT_START, encoding="utf-8")


setup(cmdclass={"build_py": BuildWithStandIns})
