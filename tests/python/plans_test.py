#!/usr/bin/env python3
"""sweep and search answer what the commands answer; their tables are columns of numbers."""
import csv
import importlib.util
import json
import pathlib
import pickle
import tempfile
import unittest

import numpy
import orrery
from support import SCENARIO, command, main

VARY = {"strategy.tensor": [1, 2, 3, 8], "training.micro_batch_size": "1..4 x2"}
OPTIONS = ["--vary", "strategy.tensor=1,2,3,8", "--vary", "training.micro_batch_size=1..4 x2"]


class SweepTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.swept = orrery.sweep(SCENARIO, vary=VARY)

    def test_writes_the_bytes_of_the_command(self):
        said = command("sweep", SCENARIO, *OPTIONS, "--json", "-")
        self.assertEqual(self.swept.json, said)
        self.assertEqual(self.swept, json.loads(said))
        self.assertEqual(self.swept.csv, command("sweep", SCENARIO, *OPTIONS, "--csv", "-"))
        self.assertEqual(str(self.swept), command("sweep", SCENARIO, *OPTIONS))

    def test_columns_hold_every_point_in_the_order_of_the_grid(self):
        columns = self.swept.columns
        rows = list(csv.DictReader(self.swept.csv.splitlines()))
        self.assertEqual(list(columns), list(rows[0]))
        self.assertEqual(columns["strategy.tensor"].tolist(), [1] * 3 + [2] * 3 + [3] * 3 + [8] * 3)
        self.assertEqual(columns["strategy.tensor"].dtype, numpy.int64)
        self.assertEqual(columns["fits"].dtype, bool)
        told = [row["problem"] == "" for row in rows]
        self.assertIn(False, told)  # tensor 3
        for name in ("step_time_s", "mfu", "memory_needed_bytes"):
            self.assertEqual(numpy.isnan(columns[name]).tolist(), [not legal for legal in told])
            self.assertEqual(columns[name][told].tolist(), [float(row[name]) for row in rows if row[name]])
        self.assertEqual([problem != "" for problem in columns["problem"]], [not legal for legal in told])
        best = int(numpy.nanargmin(columns["rank"]))
        self.assertEqual(columns["tokens_per_s"][best], numpy.nanmax(columns["tokens_per_s"][columns["fits"]]))

    def test_numbers_of_threads_change_nothing(self):
        self.assertEqual(orrery.sweep(SCENARIO, vary=VARY, threads=1), self.swept)
        self.assertEqual(orrery.sweep(SCENARIO, vary=VARY, threads=3), self.swept)

    def test_gpus_and_texts_can_be_varied(self):
        said = command("sweep", SCENARIO, "--vary", "gpus=8..32x2", "--vary", "strategy.recompute=none,full",
                       "--json", "-")
        again = orrery.sweep(SCENARIO, vary={"gpus": [8, 16, 32], "strategy.recompute": ["none", "full"]})
        self.assertEqual(again.json, said)
        self.assertEqual(again.columns["strategy.recompute"].tolist(), ["none", "full"] * 3)
        places = ["0-3,8-11,16-31,4-7,12-15", "linear"]
        placed = orrery.sweep(SCENARIO, vary={"strategy.placement": places})
        self.assertEqual((placed["axes"][0]["values"][1], placed["counts"]["fit"]), ("linear", 2))
        columns = orrery.sweep(SCENARIO, vary={"gpus": numpy.array([8, 16])}).columns
        self.assertEqual(columns["gpus"].tolist(), [8, 16])

    def test_goes_on_from_its_log_and_takes_it_away(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "sweep.log"
            self.assertEqual(orrery.sweep(SCENARIO, vary=VARY, log=log), self.swept)
            self.assertFalse(log.exists())
            log.write_text("not a log\n")
            with self.assertRaises(orrery.Error):
                orrery.sweep(SCENARIO, vary=VARY, log=log)
            self.assertEqual(log.read_text(), "not a log\n")

    def test_can_be_pickled(self):
        copy = pickle.loads(pickle.dumps(self.swept))
        self.assertEqual(copy, self.swept)
        self.assertEqual(copy.columns["mfu"].tolist()[:2], self.swept.columns["mfu"].tolist()[:2])
        self.assertEqual(copy.csv, self.swept.csv)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_frame_is_the_table_of_pandas(self):
        frame = self.swept.frame()
        self.assertEqual(len(frame), 12)
        self.assertEqual(list(frame.columns), list(self.swept.columns))


class SearchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = orrery.search(SCENARIO, fix={"strategy.tensor": 2}, top=3)

    def test_writes_the_bytes_of_the_command(self):
        options = ["--fix", "strategy.tensor=2", "--top", 3]
        self.assertEqual(self.found.json, command("search", SCENARIO, *options, "--json", "-"))
        self.assertEqual(self.found.csv, command("search", SCENARIO, *options, "--csv", "-"))
        self.assertTrue(self.found["proven"])

    def test_every_wish_is_the_commands(self):
        found = orrery.search(SCENARIO, gpus=[8, 16], gpu=["A100-80GB", "A100-40GB"], objective="cost",
                              price={"A100-80GB": 1.8, "A100-40GB": 1.4}, fix={"strategy.tensor": 1},
                              vary={"training.micro_batch_size": [1, 2]}, idle=0.5, top=2, threads=2)
        said = command("search", SCENARIO, "--gpus", "8,16", "--gpu", "A100-80GB,A100-40GB", "--objective", "cost",
                       "--price", "A100-80GB=1.8", "--price", "A100-40GB=1.4", "--fix", "strategy.tensor=1", "--vary",
                       "training.micro_batch_size=1,2", "--idle", 0.5, "--top", 2, "--json", "-")
        self.assertEqual(found.json, said)

    def test_columns_begin_with_the_best(self):
        columns = self.found.columns
        best = self.found["best"]
        self.assertEqual(columns["rank"][:3].tolist(), [1, 2, 3])
        self.assertEqual(columns["plan"].tolist()[:3], [plan["plan"] for plan in best])
        self.assertEqual(columns["step_time_s"].tolist()[:3], [plan["step_time_s"] for plan in best])
        self.assertEqual(set(columns["strategy.tensor"].tolist()), {2})
        self.assertEqual(columns["on_front"].sum(), len(self.found["front"]))

    def test_a_plan_that_was_found_can_be_predicted(self):
        for place in range(3):
            step = self.found.predict(place)
            self.assertEqual(step["step_time_s"], self.found["best"][place]["step_time_s"])
        self.assertIsInstance(step, orrery.Prediction)
        again = orrery.predict(SCENARIO, set=self.found.changes(2))
        self.assertEqual(again["step_time_s"], step["step_time_s"])

    def test_a_plan_on_another_cluster_and_from_keys_can_be_predicted(self):
        found = orrery.search(model="gpt-1.7b", cluster="dgx-a100", global_batch=64, seq_length=1024, gpus="8..16",
                              fix=["strategy.sharding=zero1", "training.micro_batch_size=1"], top=1)
        self.assertEqual(found.predict()["step_time_s"], found["best"][0]["step_time_s"])

    def test_can_be_pickled(self):
        copy = pickle.loads(pickle.dumps(self.found))
        self.assertEqual(copy, self.found)
        self.assertEqual(str(copy), str(self.found))


if __name__ == "__main__":
    main()
