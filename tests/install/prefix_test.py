#!/usr/bin/env python3
"""`cmake --install` into a prefix: it works from any folder, when it was moved, and says what is wrong.
Called with CMake's program, the build's folder, and the Python that a module was built for."""
import gzip
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from installed import SCENARIO, Installation, environment

CMAKE, BUILD, *PYTHON = sys.argv[1:4]


class PrefixTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="orrery-install-")
        cls.prefix = pathlib.Path(cls.folder.name) / "prefix"
        subprocess.run([CMAKE, "--install", BUILD, "--prefix", cls.prefix], check=True, stdout=subprocess.DEVNULL)
        cls.installed = Installation(cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def commands(self, program):
        """Every command of a program as words, itself first, from its help."""
        waiting, found = [[program]], []
        while waiting:
            path = waiting.pop(0)
            found.append(path)
            text = self.installed.run(*path[1:], "--help", program=program).stdout
            _, _, listed = text.partition("Subcommands:\n")
            for line in listed.splitlines():
                if not line.startswith("  "):
                    break
                if name := re.match(r"  ([a-z][\w-]*)(\s|$)", line):
                    waiting.append(path + [name.group(1)])
        return found

    def test_predicts_a_shipped_scenario_by_name_as_the_build_does(self):
        built = subprocess.run([pathlib.Path(BUILD) / "orrery", "simulate", SCENARIO], env=environment(), check=True,
                               capture_output=True, text=True).stdout
        self.assertEqual(self.installed.report(), built)
        self.assertEqual(self.installed.missing_libraries(), [])

    def test_has_its_data_documents_and_licences(self):
        for name in ("share/orrery/scenarios/scenario.schema.json", "share/orrery/scenarios/profiles/h100.json",
                     "share/orrery/scenarios/validation/megatron_papers.json",
                     "share/orrery/scenarios/models/gpt2.json", "share/orrery/report/prediction.schema.json",
                     "share/doc/orrery/README.md",
                     "share/doc/orrery/docs/pipeline.svg", "share/doc/orrery/LICENSE", "share/doc/orrery/NOTICE",
                     "share/doc/orrery/licenses/vtrain-MIT.txt"):
            self.assertTrue((self.prefix / name).is_file(), name)
        empty = [str(folder) for folder in self.prefix.rglob("*") if folder.is_dir() and not any(folder.iterdir())]
        self.assertEqual(empty, [])
        self.assertEqual(self.installed.run("list", "profiles").returncode, 0)

    def test_examples_of_the_help_run_in_its_folder(self):
        data = self.prefix / "share" / "orrery"
        for words in (["simulate", "scenarios/gpt2-xl-dgx-2.json"],
                      ["import", "megatron", "doors/examples/gpt-1.7b.sh", "--cluster", "dgx-a100"]):
            result = self.installed.run(*words, folder=data)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_works_where_it_was_moved_to_with_the_data_beside_it(self):
        report = self.installed.report()
        moved = Installation(pathlib.Path(self.folder.name) / "moved" / "deeper")
        shutil.copytree(self.prefix, moved.root)
        try:
            self.assertEqual(moved.report(), report)
            self.assertEqual(moved.run("simulate", SCENARIO, "--engine", "simgrid").returncode, 0)
            shutil.rmtree(moved.root / "share" / "orrery")
            bare = moved.run("simulate", SCENARIO)
            self.assertEqual(bare.returncode, 2)  # and not the data of the source or of the first prefix
            self.assertIn("the shipped data are missing", bare.stderr)
            self.assertIn("ORRERY_DATA", bare.stderr)
            chosen = moved.run("simulate", SCENARIO, ORRERY_DATA=str(self.prefix / "share" / "orrery" / "scenarios"))
            self.assertEqual(chosen.stdout, report)
        finally:
            shutil.rmtree(moved.root)

    @unittest.skipUnless(PYTHON, "no module for Python was built")
    def test_python_finds_the_module_and_it_the_data_also_where_they_were_moved(self):
        self.assertEqual(self.installed.report_in_python(PYTHON[0]), self.installed.report())
        held = sorted(file.name for file in (self.installed.python_folder() / "orrery").iterdir())
        for name in ("__init__.py", "_commands.py", "_native.pyi", "py.typed"):
            self.assertIn(name, held)
        moved = Installation(pathlib.Path(self.folder.name) / "moved for python")
        shutil.copytree(self.prefix, moved.root)
        try:
            self.assertEqual(moved.report_in_python(PYTHON[0]), self.installed.report())
            shutil.rmtree(moved.root / "share" / "orrery" / "scenarios")
            self.assertIn("the shipped data are missing", moved.report_in_python(PYTHON[0]))
        finally:
            shutil.rmtree(moved.root)

    def test_a_wrong_data_folder_is_bad_input_with_a_remedy(self):
        for wrong, reason in (("/no/such/folder", "is not a folder"), (str(self.prefix), "has no profiles/")):
            result = self.installed.run("simulate", SCENARIO, ORRERY_DATA=wrong)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(reason, result.stderr)
            self.assertIn("hint: name the folder that holds profiles/, or unset the variable", result.stderr)

    def test_every_command_has_a_manual_page(self):
        pages = {file.name for file in (self.prefix / "share" / "man" / "man1").iterdir()}
        paths = [path for program in self.installed.programs() for path in self.commands(program)]
        self.assertGreater(len(paths), 30)
        self.assertEqual(pages, {f"{'-'.join(path)}.1.gz" for path in paths})

    def test_manual_pages_say_what_the_help_says(self):
        page = gzip.open(self.prefix / "share" / "man" / "man1" / "orrery-simulate.1.gz", "rt").read()
        for word in (".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH EXAMPLES", r"\-\-fold", r"orrery\-simulate"):
            self.assertIn(word, page)
        self.assertIn("ORRERY_DATA", gzip.open(self.prefix / "share" / "man" / "man1" / "orrery.1.gz", "rt").read())
        if shutil.which("groff") is None:
            return
        for file in (self.prefix / "share" / "man" / "man1").iterdir():
            said = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=gzip.decompress(file.read_bytes()),
                                  capture_output=True, check=True)
            self.assertEqual(said.stderr.decode(), "", file.name)

    def completed(self, program, *words):
        """What bash offers in the place of the last word."""
        script = self.prefix / "share" / "bash-completion" / "completions" / program
        asked = f"""source "$0"; COMP_WORDS=("$@"); COMP_CWORD={len(words)}; _{program}; echo "${{COMPREPLY[@]}}" """
        result = subprocess.run(["bash", "--norc", "-c", asked, script, program, *words], capture_output=True,
                                text=True, check=True, cwd=self.prefix)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_bash_completes_commands_options_and_words(self):
        self.assertEqual(self.completed("orrery", "simu"), ["simulate"])
        self.assertEqual(self.completed("orrery", "calibrate", "sh"), ["show"])
        self.assertEqual(self.completed("orrery", "simulate", "--fol"), ["--fold"])
        self.assertEqual(self.completed("orrery", "simulate", "--fold", "v"), ["verify"])
        self.assertEqual(self.completed("orrery-device", "calib"), ["calibrate"])

    def test_completions_of_the_other_shells_are_where_these_look(self):
        share = self.prefix / "share"
        for program in self.installed.programs():
            self.assertIn(f"#compdef {program}\n", (share / "zsh/site-functions" / f"_{program}").read_text())
            self.assertIn(f"complete -c {program} ", (share / f"fish/vendor_completions.d/{program}.fish").read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
