"""tools/hosts from outside: hosts_test.py TEST TOOLS BUILD. No test looks at how long anything took."""
import json
import os
import socket
import subprocess
import sys
import tempfile

from common import SCENARIO, SKIPPED, check

TEST, TOOLS, BUILD = sys.argv[1:4]
PREDICT = os.path.join(TOOLS, "predict")


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def arguments():
    """Each mistake is named, with exit code 2, before anything is set up."""
    for words, named in [(["--build", "/nowhere"], "/nowhere"), (["--steps", "3"], "--steps"),
                         (["--rate", "1"], "--rate"), (["--hosts", "5"], "--hosts"),
                         (["--only", "no such"], "no such"), (["--what"], "--what")]:
        done = run(PREDICT, "--build", BUILD, *words)
        check(done.returncode == 2 and named in done.stdout, f"{words}: {done.returncode}, {done.stdout}")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]


def job(words, ranks=2):
    """The ranks of a job on this host; what the first one wrote."""
    port = str(free_port())
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=dict(os.environ, RANK=str(i), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1",
                                         MASTER_PORT=port, ORRERY_SECRET="a secret of this test"))
               for i in range(ranks)]
    texts = [one.communicate(timeout=100)[0] for one in started]
    for one, text in zip(started, texts):
        check(one.returncode == 0, f"{words}: {one.returncode}, {text}")
    return texts[0]


def loopback():
    """Ranks of one host over TCP: kernels that sleep, and kernels that compute and learn what one rank learns."""
    orrery = os.path.join(BUILD, "orrery")
    with tempfile.TemporaryDirectory() as folder:
        scenario, out = os.path.join(folder, "scenario.json"), os.path.join(folder, "out.json")
        for strategy in ({"data": 2, "overlap_grad_reduce": True}, {"pipeline": 2}):
            with open(scenario, "w", encoding="utf-8") as file:
                json.dump(dict(SCENARIO, strategy=strategy), file)
            words = [orrery, "run", scenario, "--communication", "tcp", "--steps", "4", "--json", out, "--quiet"]
            job(words + ["--emulate-compute"])
            measured = read(out)["measured"]
            check(measured["communication"].startswith("TCP"), measured["communication"])
            check(measured["ranks"][0]["device"].startswith("emulated"), measured["ranks"][0])
            job(words)
            together = [step["loss"] for step in read(out)["measured"]["steps"]]
            done = run(orrery, "run", scenario, "--set", "strategy.data=1", "--set", "strategy.pipeline=1", "--steps",
                       "4", "--json", out, "--quiet")
            check(done.returncode == 0, done.stdout)
            alone = [step["loss"] for step in read(out)["measured"]["steps"]]
            check(all(abs(a - b) < 1e-4 for a, b in zip(together, alone)), f"{together} and {alone}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def namespaces():
    """One configuration on namespaces, and nothing is left of them."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "rows.json")
        done = run(PREDICT, "--build", BUILD, "--hosts", "4", "--only", "pipeline 4", "--steps", "4", "--json", out)
        if done.returncode == SKIPPED:
            print(done.stdout)
            sys.exit(SKIPPED)
        check(done.returncode == 0, done.stdout)
        rows = read(out)
        check([row["name"] for row in rows] == ["pipeline 4"], rows)
        check(rows[0]["measured"] > 0 and rows[0]["predicted"] > 0, rows)
        left = run("ip", "netns", "list").stdout + run("ip", "link").stdout
        check("orrery-" not in left, left)


{"arguments": arguments, "loopback": loopback, "namespaces": namespaces}[TEST]()
