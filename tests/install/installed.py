"""Runs a program of an installation as a user would: from another folder, without what a build's environment says."""
import os
import pathlib
import subprocess
import tempfile

SCENARIO = "gpt-1.7b-dgx-a100"


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ORRERY_")}
    return dict(kept, NO_COLOR="1", **more)


class Installation:
    """Programs below `root`, a prefix."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def run(self, *arguments, program="orrery", folder=None, **variables):
        with tempfile.TemporaryDirectory(prefix="orrery-elsewhere-") as elsewhere:
            return subprocess.run([self.root / "bin" / program, *arguments], cwd=folder or elsewhere,
                                  env=environment(**variables), stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=300)

    def report(self):
        result = self.run("simulate", SCENARIO)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def python_folder(self):
        """Where the module is: one of Debian's two places."""
        [folder] = self.root.glob("lib/python3*/dist-packages")
        return folder

    def report_in_python(self, python):
        """The same as report(), from the module."""
        with tempfile.TemporaryDirectory(prefix="orrery-elsewhere-") as elsewhere:
            result = subprocess.run([python, "-c", f"import orrery; print(orrery.predict({SCENARIO!r}), end='')"],
                                    cwd=elsewhere, env=environment(PYTHONPATH=str(self.python_folder())),
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        return result.stdout if result.returncode == 0 else result.stderr

    def programs(self):
        return sorted(file.name for file in (self.root / "bin").iterdir())

    def missing_libraries(self):
        files = [*(self.root / "bin").iterdir(), *self.root.glob("lib/**/*.so")]
        texts = [subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout for file in files]
        return [line.strip() for text in texts for line in text.splitlines() if "not found" in line]
