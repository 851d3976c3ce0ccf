#!/usr/bin/env python3
"""predict, explain, capacity and resolve say what the commands say, and show it."""
import gzip
import html.parser
import json
import os
import pathlib
import pickle
import tempfile
import unittest

import numpy
import orrery
from orrery import _native
from support import LARGE, ROOT, SCENARIO, command, main, read


class PredictTest(unittest.TestCase):
    def test_writes_the_bytes_of_the_command_for_every_shipped_scenario(self):
        self.assertGreater(len(orrery.scenarios()), 15)
        for name in orrery.scenarios():
            with self.subTest(name):
                said = command("simulate", name, "--json", "-")
                predicted = orrery.predict(name)
                self.assertEqual(predicted.json, said)
                self.assertEqual(predicted, json.loads(said))

    def test_a_file_a_dictionary_and_a_path_are_the_same_scenario(self):
        file = ROOT / "scenarios" / f"{SCENARIO}.json"
        by_name = orrery.predict(SCENARIO)
        self.assertEqual(orrery.predict(str(file)), by_name)
        self.assertEqual(orrery.predict(file), by_name)
        self.assertEqual(orrery.predict(json.loads(read(SCENARIO))), by_name)

    def test_arguments_are_the_options_of_the_command(self):
        arguments = dict(model="llama3-8b", cluster="dgx-h100", gpus=16, tensor=2, global_batch=32, seq_length=4096,
                         precision="bf16", micro_batch=1)
        options = [word for key, value in arguments.items() for word in ("--" + key.replace("_", "-"), value)]
        self.assertEqual(orrery.predict(**arguments).json, command("simulate", *options, "--json", "-"))
        self.assertEqual(orrery.predict(SCENARIO, tensor=2, data=16).json,
                         command("simulate", SCENARIO, "--tensor", 2, "--data", 16, "--json", "-"))

    def test_changes_are_those_of_set(self):
        changes = {"strategy.recompute": "selective", "training.micro_batch_size": 2, "strategy.data": None,
                   "perturbations.stragglers": ["rank 3 x 1.5"], "strategy.sequence_parallel": False}
        said = command("simulate", SCENARIO, "--set", "strategy.recompute=selective", "--set",
                       "training.micro_batch_size=2", "--set", "strategy.data=null", "--set",
                       'perturbations.stragglers=["rank 3 x 1.5"]', "--set", "strategy.sequence_parallel=false",
                       "--json", "-")
        self.assertEqual(orrery.predict(SCENARIO, set=changes).json, said)
        self.assertEqual(orrery.predict(SCENARIO, set=["strategy.tensor=2", "strategy.data=null"]),
                         orrery.predict(SCENARIO, set={"strategy.tensor": numpy.int64(2), "strategy.data": None}))

    def test_is_read_as_the_command_prints_it(self):
        self.assertEqual(str(orrery.predict(LARGE)), command("simulate", LARGE))
        self.assertRegex(repr(orrery.predict(LARGE)), r"^<orrery.predict\('gpt3-175b-superpod-a100'\): step \d")

    def test_what_does_not_fit_is_an_answer(self):
        predicted = orrery.predict(LARGE, set={"strategy.recompute": "none"})
        self.assertFalse(predicted["fits"])
        self.assertIn("does not fit", repr(predicted))

    def test_columns_are_numbers_for_each_stage(self):
        predicted = orrery.predict(LARGE)
        columns = predicted.columns
        self.assertEqual(columns["stage"].tolist(), list(range(8)))
        self.assertEqual(columns["breakdown_s.gemm"].dtype, numpy.float64)
        self.assertEqual(columns["breakdown_s.gemm"].tolist(),
                         [stage["breakdown_s"]["gemm"] for stage in predicted["stages"]])

    def test_resolve_writes_out_a_scenario_that_predicts_the_same(self):
        whole = orrery.resolve(SCENARIO, tensor=2, data=16)
        self.assertEqual(whole["strategy"]["tensor"], 2)
        again, asked = orrery.predict(whole), orrery.predict(SCENARIO, tensor=2, data=16)
        self.assertEqual(again["step_time_s"], asked["step_time_s"])

    def test_a_copy_in_another_process_can_do_the_same(self):
        predicted = orrery.predict(SCENARIO)
        copy = pickle.loads(pickle.dumps(predicted))
        self.assertEqual(copy, predicted)
        self.assertEqual((type(copy), repr(copy), copy.json), (type(predicted), repr(predicted), predicted.json))


class ExplainTest(unittest.TestCase):
    def test_prints_what_the_command_prints(self):
        self.assertEqual(str(orrery.explain(SCENARIO, rank=3)), command("explain", SCENARIO, "--rank", 3))

    def test_kernels_are_a_table_the_most_expensive_first(self):
        explained = orrery.explain(LARGE, rank=1023)
        columns = explained.columns
        spent = columns["count"] * columns["seconds"]
        self.assertTrue(numpy.all(numpy.diff(columns["share"]) <= 1e-12))
        numpy.testing.assert_allclose(columns["share"], spent / explained["step_time_s"], rtol=1e-6)
        self.assertIn("GEMM", "".join(columns["text"]).upper())
        self.assertEqual(explained["rank"], 1023)

    def test_a_rank_that_is_not_there_is_named(self):
        with self.assertRaises(orrery.Error) as caught:
            orrery.explain(SCENARIO, rank=32)
        self.assertEqual(f"orrery: error: {caught.exception}\n",
                         command("explain", SCENARIO, "--rank", 32, exit_code=2))


class CapacityTest(unittest.TestCase):
    QUESTION = ROOT / "scenarios" / "capacity" / "llama3-70b.json"

    def test_writes_the_bytes_of_the_command(self):
        said = command("capacity", self.QUESTION, "--no-cache", "--json", "-")
        answered = orrery.capacity(self.QUESTION)
        self.assertEqual(answered.json, said)
        self.assertEqual(orrery.capacity(json.loads(self.QUESTION.read_text()))["chosen"], answered["chosen"])
        columns, candidates = answered.columns, answered["candidates"]
        self.assertEqual(columns["name"].tolist(), [each["name"] for each in candidates])
        self.assertEqual(list(zip(columns["best.days.low"], columns["best.days.high"])),
                         [tuple(each["best"]["days"]) for each in candidates])

    def test_keeps_predictions_where_it_is_told_to(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(folder) / "known"
            first = orrery.capacity(self.QUESTION, cache=cache)
            self.assertGreater(cache.stat().st_size, 0)
            self.assertEqual(orrery.capacity(self.QUESTION, cache=cache)["candidates"], first["candidates"])


class Page(html.parser.HTMLParser):
    """The attributes of the frame."""

    frames: list

    def __init__(self, text):
        super().__init__()
        self.frames = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "iframe":
            self.frames.append(dict(attrs))


class ShownTest(unittest.TestCase):
    def test_a_notebook_shows_the_page_in_a_frame_that_may_do_no_more_than_draw(self):
        for report in (orrery.predict(SCENARIO), orrery.sweep(SCENARIO, vary={"strategy.tensor": [1, 2]})):
            shown = report._repr_html_()
            if not _native.has_page():
                self.assertIn("<pre>", shown)
                continue
            [frame] = Page(shown).frames
            self.assertEqual(frame["srcdoc"], report.html)
            self.assertNotIn("allow-same-origin", frame["sandbox"])
            self.assertIn("<script", frame["srcdoc"])

    def test_hostile_names_stay_text(self):
        scenario = dict(json.loads(read(SCENARIO)), name='"></iframe><script>alert(1)</script>')
        shown = orrery.predict(scenario)._repr_html_()
        self.assertNotIn("<script", shown)
        self.assertEqual(shown.count("</iframe>"), 1 if _native.has_page() else 0)

    def test_reports_are_saved_in_the_form_of_the_ending(self):
        predicted = orrery.predict(SCENARIO)
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            predicted.save(place / "step.json")
            self.assertEqual((place / "step.json").read_text(), predicted.json)
            predicted.save(str(place / "step.txt.gz"))
            self.assertEqual(gzip.open(place / "step.txt.gz", "rt").read(), str(predicted))
            if _native.has_page():
                predicted.save(place / "step.html")
                self.assertEqual((place / "step.html").read_text(), predicted.html)
            self.assertEqual(predicted.trace(place / "trace.json"), "")
            said = place / "said.json"
            command("simulate", SCENARIO, "--trace", said, "--quiet")
            self.assertEqual((place / "trace.json").read_text(), said.read_text())
            with self.assertRaisesRegex(ValueError, "a report is written as .json"):
                predicted.save(place / "step.pdf")
            with self.assertRaises(orrery.Error):
                predicted.save(place / "no such folder" / "step.json")
            self.assertNotIn("step.pdf", os.listdir(folder))


if __name__ == "__main__":
    main()
