#!/usr/bin/env python3
"""The examples run, and answer what the program answers."""
import json
import re
import subprocess
import sys
import unittest

from support import ROOT, command, main

PLAN = ["--model", "llama3-70b", "--cluster", "dgx-h100", "--gpus", 512, "--global-batch", 512, "--seq-length", 8192]


class ExampleTest(unittest.TestCase):
    def test_every_example_runs(self):
        examples = sorted((ROOT / "python" / "examples").glob("*.py"))
        self.assertGreater(len(examples), 0)
        for example in examples:
            result = subprocess.run([sys.executable, example], capture_output=True, text=True, cwd="/", timeout=300)
            self.assertEqual((result.returncode, result.stderr), (0, ""), example)

    def test_which_cluster_answers_its_three_questions(self):
        example = ROOT / "python" / "examples" / "which_cluster.py"
        said = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True, timeout=300).stdout
        step = json.loads(command("simulate", *PLAN, "--tensor", 8, "--sharding", "zero1", "--json", "-"))
        self.assertIn(f"fits: {step['fits']}, room", said)
        for line in step["advice"]:
            self.assertIn(line + "\n", said)
        found = json.loads(command("search", *PLAN, "--top", 1, "--fix", "strategy.sharding=zero1", "--fix",
                                   "strategy.cpu_offloading_num_layers=0", "--json", "-"))
        best = found["best"][0]
        self.assertIn(f"step {best['step_time_s']:.2f} s, MFU {best['mfu']:.1%}", said)
        self.assertIn("proven: True", said)
        self.assertEqual(len(re.findall(r"^(none|selective|full) +micro-batch", said, re.M)), 6)
        self.assertIn("take: 512 H100\n", said)


if __name__ == "__main__":
    main()
