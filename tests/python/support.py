"""The program beside the module: what both say must be the same."""
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIO = "gpt-1.7b-dgx-a100"
LARGE = "gpt3-175b-superpod-a100"


def command(*words, exit_code=0):
    """What `orrery` writes to standard output, or, where it fails, to standard error."""
    result = subprocess.run([os.environ["ORRERY_PROGRAM"], *map(str, words)], capture_output=True, text=True,
                            stdin=subprocess.DEVNULL, env=dict(os.environ, NO_COLOR="1"), cwd=ROOT, timeout=300)
    assert result.returncode == exit_code, (words, result.returncode, result.stderr)
    return result.stdout if exit_code == 0 else result.stderr


def python(text, **how):
    """Another interpreter that runs the text."""
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            **how)


def read(name):
    return (ROOT / "scenarios" / f"{name}.json").read_text()


def main():
    unittest.main(verbosity=1)
