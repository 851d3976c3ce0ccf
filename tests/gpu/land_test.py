#!/usr/bin/env python3
"""tests/gpu/run and tests/gpu/land without a GPU: what the CPU device measures is landed like a GPU's.

    land_test.py SOURCE BUILD"""
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

SOURCE, BUILD = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
RUN, LAND = SOURCE / "tests/gpu/run", SOURCE / "tests/gpu/land"
PLAN = "gpt-tiny"


def call(*command, **environment):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


class Calls(unittest.TestCase):
    def test_each_ends_within_ten_minutes(self):
        budgets = dict(line.split() for line in call(RUN, "--budgets").stdout.splitlines())
        for name in "ABC":
            self.assertLessEqual(int(budgets[name]), 590, name)

    def test_an_unknown_one_is_refused(self):
        self.assertEqual(call(RUN, "D").returncode, 2)


class Landed(unittest.TestCase):
    """One archive of a CPU, and what becomes of it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.folder.name)
        cls.ran = call(RUN, "C", cls.at, DEVICE="cpu", BUILD=str(BUILD), STEPS="machine steps torch products check",
                       PLANS=f"tests/gpu/plans/{PLAN}.json", SHORTEN="120")
        cls.base = SOURCE / "scenarios/profiles/cpu.json"
        cls.landed = call(LAND, cls.at / "C.tar.gz", "--base", cls.base, "--name", "cpu-landed", "--into", cls.at,
                          "--orrery", BUILD / "orrery")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def read(self, path):
        return (self.at / path).read_text()

    def test_a_call_leaves_one_archive_and_no_other_file(self):
        self.assertEqual(self.ran.returncode, 0, self.ran.stdout + self.ran.stderr)
        with tarfile.open(self.at / "C.tar.gz") as archive:
            names = archive.getnames()
        for name in ("summary.txt", "machine.txt", "profile.json", f"steps/{PLAN}.json", f"steps/{PLAN}.alone.json"):
            self.assertIn("C/" + name, names)

    def test_the_profile_has_measured_tables_instead_of_the_bases_and_beside_them(self):
        self.assertEqual(self.landed.returncode, 0, self.landed.stderr)
        base, profile = json.loads(self.base.read_text()), json.loads(self.read("scenarios/profiles/cpu-landed.json"))
        self.assertEqual(profile["name"], "cpu-landed")
        kept = [t for t in base["collectives"]]
        self.assertEqual(profile["collectives"], kept, "the call measured none")
        kinds = [t["kind"] for t in profile["pointwise"] if t.get("dtype") == "fp32"]
        self.assertEqual(len(kinds), len(set(kinds)), "no table twice")
        self.assertEqual(set(kinds), {t["kind"] for t in base["pointwise"]})
        new = [t for t in profile["gemm"] if t not in base["gemm"]]
        self.assertTrue(new)
        for table in new:
            self.assertEqual(table["provenance"]["origin"], "measured by orrery calibrate")
        shown = call(BUILD / "orrery", "profile", "show", self.at / "scenarios/profiles/cpu-landed.json")
        self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_steps_are_those_of_the_run(self):
        plans = json.loads(self.read("tests/gpu/measured/cpu-landed.json"))
        with tarfile.open(self.at / "C.tar.gz") as archive:
            run = json.load(archive.extractfile(f"C/steps/{PLAN}.json"))
        self.assertEqual(plans[PLAN]["seconds"], [s["seconds"] for s in run["steps"][run["warmup"]:]])
        self.assertEqual(plans[PLAN]["losses"], [s["loss"] for s in run["steps"]])
        self.assertGreater(plans[PLAN]["operations"], 10)
        self.assertEqual(len(plans[PLAN]["alone_s"]), len(plans[PLAN]["seconds"]))

    def test_the_report_has_its_tables(self):
        text = self.read("tests/gpu/measured/cpu-landed.md")
        for head in ("## Machine", "## Steps", "## Profile", "## Against its base", "## Unseen shapes: gemm",
                     "## Where a step's time goes"):
            self.assertIn(head, text)
        self.assertIn(f"| {PLAN} |", text)
        self.assertIn("instead of the base's", text)

    def test_archives_of_something_else_are_refused(self):
        other = self.at / "other.tar.gz"
        with tarfile.open(other, "w:gz") as archive:
            archive.add(LAND, "C/land")
        refused = call(LAND, other, "--into", self.at)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no summary.txt", refused.stderr)
        self.assertEqual(call(LAND, self.at / "absent.tar.gz").returncode, 2)

    def test_calibrations_need_the_program_that_puts_them_together(self):
        refused = call(LAND, self.at / "C.tar.gz", "--into", self.at / "unwritten")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("give --orrery", refused.stderr)
        self.assertFalse((self.at / "unwritten").exists(), "nothing half-written")


class FrameworkKernels(unittest.TestCase):
    """What PyTorch's kernels took on an H200 becomes a profile, which the imported one is held against."""

    def test_the_imported_profile_is_compared_with_them(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "framework.json")
            made = call(SOURCE / "tests/gpu/torch_profile", SOURCE / "tests/gpu/measured/h200-pytorch-kernels.json",
                        SOURCE / "scenarios/profiles/h200.json", out)
            self.assertEqual(made.returncode, 0, made.stderr)
            compared = call(BUILD / "orrery", "calibrate", "compare", out, "h200", "--format", "csv")
        self.assertEqual(compared.returncode, 0, compared.stderr)
        for suite in ("gemm bf16,", "gemm fp8,", "batched gemm bf16,", "attention,", "attention backward,", "add,"):
            self.assertIn("\n" + suite, compared.stdout)

    def test_other_files_are_refused(self):
        refused = call(SOURCE / "tests/gpu/torch_profile", RUN, RUN, "unwritten.json")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("give what torch_kernels.py left", refused.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
