"""The commands that are killed at random moments: one entry each. {folder} is a fresh folder, {json} an output."""
import json
import os


def sound_json(path):
    """Whether a file is whole; where there is none it is."""
    if not os.path.exists(path):
        return True
    try:
        with open(path, encoding="utf-8") as file:
            json.load(file)
        return True
    except ValueError:
        return False


def sound_log(path):
    """Whether every line but a cut-off last one is whole."""
    if not os.path.exists(path):
        return True
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")[:-1]
    try:
        return all(isinstance(json.loads(line), dict) for line in lines)
    except ValueError:
        return False


TINY = "scenarios/gpt-tiny-cpu.json"

# words: of the command line. whole: files that are there whole or not at all; log: one that grows line by line.
# Nothing else may be left in the folder, and the command must end well when it is given once more. same: files that
# then hold what a command that nobody killed writes, to the byte.
COMMANDS = {
    "simulate": {
        "words": ["simulate", TINY, "--operations", "--json", "{folder}/report.json", "--trace", "{folder}/t.json"],
        "whole": ["report.json", "t.json"],
    },
    "simulate large": {
        "words": ["simulate", "scenarios/gpt3-175b-superpod-a100.json", "--json", "{folder}/report.json"],
        "whole": ["report.json"],
    },
    "run": {
        "words": ["run", TINY, "--steps", "12", "--json", "{folder}/out.json"],
        "whole": ["out.json"],
    },
    "run of two ranks": {
        "words": ["run", TINY, "--set", "strategy.data=2", "--steps", "8", "--json", "{folder}/out.json"],
        "whole": ["out.json"],
    },
    "calibrate": {
        "words": ["calibrate", "--suite", "pointwise", "--budget", "1s", "--out", "{folder}/cpu.json", "-q"],
        "whole": ["cpu.json"], "log": "cpu.json.log",
    },
    "sweep": {
        "words": ["sweep", TINY, "--vary", "seed=1..40 +1", "--vary", "training.micro_batch_size=1,2,4", "--vary",
                  "strategy.data=1,2", "--csv", "{folder}/points.csv", "--json", "{folder}/points.json", "--log",
                  "{folder}/sweep.log"],
        "whole": ["points.json"], "may_stay": ["points.csv"], "log": "sweep.log", "same": ["points.csv", "points.json"],
    },
    "sweep, part": {
        "words": ["sweep", TINY, "--vary", "training.micro_batch_size=1,2,4", "--vary", "strategy.data=1,2", "--shard",
                  "2/3", "--json", "{folder}/part.json"],
        "whole": ["part.json"], "log": "part.json.log", "same": ["part.json"],
    },
    "search": {
        "words": ["search", "scenarios/gpt-1.7b-dgx-a100.json", "--top", "40", "--json", "{folder}/plans.json"],
        "whole": ["plans.json"], "log": "plans.json.log", "same": ["plans.json"],
    },
    "capacity": {
        "words": ["capacity", "scenarios/capacity/llama3-70b.json", "--json", "{folder}/answer.json", "--cache",
                  "{folder}/predictions"],
        "whole": ["answer.json"], "log": "predictions", "same": ["answer.json"],
    },
    "validate": {
        "words": ["validate", "scenarios/validation/megatron_papers.json", "--quiet", "--json", "{folder}/scores.json"],
        "whole": ["scores.json"],
    },
    "topology": {
        "words": ["topology", TINY, "--svg", "{folder}/t.svg", "--dot", "{folder}/t.dot"],
        "whole": [], "may_stay": ["t.svg", "t.dot"],
    },
}
