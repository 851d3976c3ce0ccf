#!/usr/bin/env python3
"""`cpack -G DEB`: what the package holds and needs, and that it runs where it is unpacked.
Called with CPack's program, the build's folder, and the Python that a module was built for."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from installed import Installation

CPACK, BUILD, *PYTHON = sys.argv[1:4]
TOOLS = ["dpkg", "dpkg-deb", "dpkg-shlibdeps"]


def said_by(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class PackageTest(unittest.TestCase):
    def test_debian_package_says_what_it_needs_and_runs_where_it_is_unpacked(self):
        with tempfile.TemporaryDirectory(prefix="orrery-package-") as folder:
            subprocess.run([CPACK, "-G", "DEB", "-B", folder], cwd=BUILD, check=True, stdout=subprocess.DEVNULL)
            [package] = pathlib.Path(folder).glob("orrery_*.deb")
            needed = said_by("dpkg-deb", "--field", package, "Depends")
            for library in ("libc6", "libsimgrid", "libfmt", "libyaml-cpp", "libpugixml"):
                self.assertIn(library, needed)
            self.assertEqual(said_by("dpkg-deb", "--field", package, "Package").strip(), "orrery")
            held = said_by("dpkg-deb", "--contents", package)
            for name in ("/usr/bin/orrery\n", "/usr/share/man/man1/orrery.1.gz", "/usr/share/doc/orrery/copyright",
                         "/usr/share/zsh/vendor-completions/_orrery\n", "/usr/lib/orrery/liborrery_simgrid.so"):
                self.assertIn(name, held)
            self.assertNotIn("/usr/local", held)
            root = pathlib.Path(folder) / "root"
            subprocess.run(["dpkg", "-x", package, root], check=True)
            unpacked = Installation(root / "usr")
            self.assertIn("GPT 1.7B on 4 DGX A100", unpacked.report())
            self.assertEqual(unpacked.missing_libraries(), [])
            if PYTHON:
                self.assertIn("/usr/lib/python3/dist-packages/orrery/__init__.py\n", held)
                self.assertIn("python3", said_by("dpkg-deb", "--field", package, "Recommends"))
                self.assertEqual(unpacked.report_in_python(PYTHON[0]), unpacked.report())


if __name__ == "__main__":
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not found")
    else:
        unittest.main(argv=sys.argv[:1])
