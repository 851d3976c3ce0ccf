#!/usr/bin/env python3
"""What a machine does to programs: kills at random moments, two writers of one file, full disks, strangers at the port
where ranks meet, a rank that stands still, a link that is cut. After each, nothing half-written is left, nobody goes on
alone, and the message says what happened. Case by case; a failure prints the seed that repeats it."""
import argparse
import fnmatch
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tools", "hosts")]
from commands import COMMANDS, TINY, sound_json, sound_log  # noqa: E402

SKIPPED = 77
MARK = "ORRERY_FAULTS"  # in the environment of everything that is started here: who is left is found by it
PATIENCE_S = 30


class Fault(Exception):
    """What must not be."""


class Skipped(Exception):
    """What this machine lacks."""


def check(holds, otherwise):
    if not holds:
        raise Fault(otherwise)


def processes_marked(mark):
    """The processes that live with this mark."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                marked = f"{MARK}={mark}".encode() in file.read().split(b"\0")
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                zombie = file.read().rsplit(") ", 1)[1][0] in "ZX"
        except (OSError, IndexError):
            continue
        if marked and not zombie:
            found.append(int(entry))
    return found


def comes_true(fact, within=PATIENCE_S):
    deadline = time.monotonic() + within
    while not fact():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Bench:
    """A folder for files, another for the program's own passing ones, and the program."""

    def __init__(self, build):
        self.orrery = os.path.join(build, "orrery")
        self.folder = tempfile.mkdtemp(prefix="orrery-faults-")
        self.files, self.passing = os.path.join(self.folder, "files"), os.path.join(self.folder, "tmp")
        os.mkdir(self.files)
        os.mkdir(self.passing)
        self.mark = secrets.token_hex(8)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in processes_marked(self.mark):
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, words, **environment):
        env = dict(os.environ, TMPDIR=self.passing, **{MARK: self.mark}, **environment)
        return subprocess.Popen([self.orrery] + [word.format(folder=self.files) for word in words], cwd=ROOT, env=env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, words, timeout=300, **environment):
        """Exit code and what it said."""
        started = self.start(words, **environment)
        text = "".join(started.communicate(timeout=timeout))
        return started.returncode, text

    def path(self, name):
        return os.path.join(self.files, name)

    def require_nobody(self, after):
        check(comes_true(lambda: not processes_marked(self.mark)), f"{after}: {processes_marked(self.mark)} live on")

    def empty_files(self):
        shutil.rmtree(self.files)
        os.mkdir(self.files)


def require_whole(bench, command, after):
    """What the command left, when it was killed, is whole."""
    allowed = set(command["whole"]) | set(command.get("may_stay", [])) | {command.get("log")}
    left = set(os.listdir(bench.files))
    check(left <= allowed, f"{after}: {sorted(left - allowed)} are left")
    for name in command["whole"]:
        check(sound_json(bench.path(name)), f"{after}: {name} is half a file")
    if "log" in command:
        check(sound_log(bench.path(command["log"])), f"{after}: a line of the log is damaged")


def forget_second_names(bench, after):
    """A file that takes an old one's place has a second name for the time between two system calls, which SIGKILL can
    part: then it is whole."""
    for name in fnmatch.filter(os.listdir(bench.files), ".orrery-*.tmp"):
        check(sound_json(bench.path(name)), f"{after}: {name} is half a file")
        os.unlink(bench.path(name))


def kill_once(bench, name, takes, chance):
    command = COMMANDS[name]
    number = chance.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
    after = f"{name}, {number.name}"
    replaced = set(os.listdir(bench.files)) & set(command["whole"])
    started = bench.start(command["words"])
    time.sleep(chance.uniform(0, 1.1 * takes))
    started.send_signal(number)
    try:
        text = "".join(started.communicate(timeout=PATIENCE_S))
    except subprocess.TimeoutExpired as error:
        raise Fault(f"{after}: does not end") from error
    expected = {0, -number} if number == signal.SIGKILL else {0, 130, -number}  # -number: before it could say otherwise
    check(started.returncode in expected, f"{after}: exit code {started.returncode}, {text}")
    bench.require_nobody(after)
    if number == signal.SIGKILL and replaced:
        forget_second_names(bench, after)
    require_whole(bench, command, after)
    if number != signal.SIGKILL:
        check(comes_true(lambda: not own_folders(bench), 5), f"{after}: {own_folders(bench)} are left in TMPDIR")


def own_folders(bench):
    return [name for name in os.listdir(bench.passing) if name.startswith("orrery")]


def kills(options, chance):
    """Every command of commands.py, at random moments of its time; then it ends well, and cleans up after the dead."""
    names = options.commands or list(COMMANDS)
    rounds = max(1, options.count // len(names))
    for name in names:
        with Bench(options.build) as bench:
            words = COMMANDS[name]["words"]
            began = time.monotonic()
            code, text = bench.run(words)
            takes = time.monotonic() - began
            check(code == 0, f"{name}: exit code {code}, {text}")
            bench.empty_files()
            for i in range(rounds):
                kill_once(bench, name, takes, chance)
                if i % 10 == 9 or i == rounds - 1:
                    code, text = bench.run(words)
                    check(code == 0, f"{name} after {i + 1} kills: exit code {code}, {text}")
                    check(not own_folders(bench), f"{name}: {own_folders(bench)} of the dead are left")
                    bench.empty_files()
            print(f"  {name}: {rounds} kills within {1.1 * takes:.1f} s each", flush=True)
    return rounds * len(names)


def contents(bench, names):
    found = {}
    for name in names:
        with open(bench.path(name), "rb") as file:
            found[name] = file.read()
    return found


def resumes(options, chance):
    """Commands that keep a log: killed again and again at random moments and given once more, they end with the bytes
    of a run that nobody killed."""
    names = [name for name in options.commands or COMMANDS if "same" in COMMANDS[name]]
    rounds = max(1, options.count // len(names))
    for name in names:
        command = COMMANDS[name]
        with Bench(options.build) as bench:
            began = time.monotonic()
            code, text = bench.run(command["words"])
            takes = time.monotonic() - began
            check(code == 0, f"{name}: exit code {code}, {text}")
            whole = contents(bench, command["same"])
            for i in range(rounds):
                bench.empty_files()
                for _ in range(chance.randint(1, 3)):
                    kill_once(bench, name, takes, chance)
                code, text = bench.run(command["words"])
                check(code == 0, f"{name} resumed, round {i + 1}: exit code {code}, {text}")
                check(contents(bench, command["same"]) == whole, f"{name} resumed, round {i + 1}: other bytes")
            print(f"  {name}: resumed {rounds} times to the same bytes", flush=True)
    return rounds * len(names)


def sweep_of(ranks):
    """What nccl-tests prints among so many ranks of one node."""
    lines = [f"#  Rank  {i} Group  0 Pid 1 on n1 device  0 [0x00] NVIDIA H100 80GB HBM3" for i in range(ranks)]
    return "\n".join(lines + ["# all_reduce_perf", " 1024 256 float sum -1 12.00 0.09 0.09 0 12.00 0.09 0.09 0", ""])


def writers(options, _):
    """Two at once on one profile, and two at once on one report: nothing is lost, nothing is mixed."""
    with Bench(options.build) as bench:
        profile, report = bench.path("node.json"), bench.path("report.json")
        for ranks in range(2, 2 + 2 * options.count + 1):
            with open(bench.path(f"{ranks}.txt"), "w", encoding="utf-8") as file:
                file.write(sweep_of(ranks))
        code, text = bench.run(["calibrate", "import", "nccl-tests", bench.path("2.txt"), "--out", profile])
        check(code == 0, text)
        for pair in range(options.count):
            both = [bench.start(["calibrate", "import", "nccl-tests", bench.path(f"{3 + 2 * pair + i}.txt"), "--into",
                                 profile]) for i in range(2)]
            both += [bench.start(["simulate", TINY, "--json", report]) for _ in range(2)]
            for one in both:
                text = "".join(one.communicate(timeout=PATIENCE_S))
                check(one.returncode == 0, f"beside another writer: exit code {one.returncode}, {text}")
            check(sound_json(report), "two reports are mixed")
        with open(profile, encoding="utf-8") as file:
            found = file.read().count('"all_reduce"')
        check(found == 2 * options.count + 1, f"{found} tables of {2 * options.count + 1} are left")
    return 2 * options.count


def full_disk(options, chance):
    """Outputs on a tmpfs of a few KiB: exit code 2 or 3 with a remedy, or it fits; nothing half-written."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        raise Skipped("a tmpfs of one's own needs root and unshare")
    done = 0
    for name in [n for n in COMMANDS if COMMANDS[n]["whole"]]:
        for _ in range(max(1, options.count // len(COMMANDS))):
            with Bench(options.build) as bench:
                size = chance.choice([4, 8, 12, 16, 64, 256])
                words = [bench.orrery] + [word.format(folder=bench.files) for word in COMMANDS[name]["words"]]
                # Mounted in a name space of its own, and gone with it.
                disk = f"mount -t tmpfs -o size={size}k none {bench.files}"
                script = f'{disk} && "$@"; echo "code $?"; ls -A {bench.files}'
                ran = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh"] + words, cwd=ROOT, text=True,
                                     env=dict(os.environ, TMPDIR=bench.passing, **{MARK: bench.mark}),
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
                require_remedy(name, size, ran)
                bench.require_nobody(f"{name} on a full disk")
                done += 1
    return done


def require_remedy(name, size, ran):
    after = f"{name} on {size} KiB"
    code = int(ran.stdout.rsplit("code ", 1)[1].split()[0])
    left = set(ran.stdout.rsplit("code ", 1)[1].split()[1:])
    if code == 0:
        return
    check(code in (2, 3), f"{after}: exit code {code}, {ran.stderr}")
    check("hint:" in ran.stderr, f"{after}: no remedy in {ran.stderr}")
    check(not left & set(COMMANDS[name]["whole"]), f"{after}: {left} are left")


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def job(bench, words, ranks, port):
    return [bench.start(words, RANK=str(i), WORLD_SIZE=str(ranks), LOCAL_RANK=str(i), MASTER_ADDR="127.0.0.1",
                        MASTER_PORT=str(port), ORRERY_SECRET="a secret of this test") for i in range(ranks)]


def bother(port, chance):
    """A stranger: says nothing, a little, or a lot, and stays or goes. Returns its socket where it stays."""
    try:
        guest = socket.create_connection(("127.0.0.1", port), timeout=0.2)
        guest.sendall(chance.randbytes(chance.choice([0, 1, 63, 64, 200, 5000])))
    except OSError:
        return None
    if chance.random() < 0.5:
        return guest
    guest.close()
    return None


def strangers(options, chance):
    """At the port where the ranks of a run meet, before and while they do."""
    for _ in range(options.count):
        with Bench(options.build) as bench:
            port = free_port()
            ranks = job(bench, ["run", TINY, "--set", "strategy.data=2", "--communication", "tcp", "--steps", "4",
                                "--json", "{folder}/out.json", "--quiet"], 2, port)
            stay = []
            while any(rank.poll() is None for rank in ranks):
                stay.append(bother(port, chance))
                time.sleep(0.01)
                check(len(stay) < 100 * PATIENCE_S, "strangers hold the ranks up")
            for rank in ranks:
                text = "".join(rank.communicate())
                check(rank.returncode == 0, f"among {len(stay)} strangers: exit code {rank.returncode}, {text}")
            check(sound_json(bench.path("out.json")), "the report is half a file")
    return options.count


def rank_processes(bench):
    """Of orrery-device, as often as there are ranks."""
    found = []
    for pid in processes_marked(bench.mark):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read().strip().startswith("orrery-device"):
                    found.append(pid)
        except OSError:
            continue
    return found


def stopped(options, chance):
    """A rank that stands still ends the run, with a word of it."""
    for _ in range(options.count):
        with Bench(options.build) as bench:
            run = bench.start(["run", TINY, "--set", "strategy.data=2", "--steps", "1000000", "--stall", "2"])
            check(comes_true(lambda: len(rank_processes(bench)) == 2), "two ranks do not start")
            time.sleep(chance.uniform(0, 2))
            os.kill(chance.choice(rank_processes(bench)), signal.SIGSTOP)
            text = "".join(run.communicate(timeout=PATIENCE_S))
            check(run.returncode == 3, f"a rank stood still: exit code {run.returncode}, {text}")
            check("rank" in text and ("--stall" in text or "no step" in text or "begun" in text), text)
            bench.require_nobody("a rank stood still")
    return options.count


def cut_link(options, chance):
    """A link of a name space is cut while gradients pass: every rank ends, and says that another is gone."""
    from namespaces import Hosts, Missing, command
    try:
        with Hosts(2, "1gbit") as hosts, Bench(options.build) as bench:
            for _ in range(options.count):
                logs = [bench.path(f"log{i}") for i in range(2)]
                words = [bench.orrery, "run", os.path.join(ROOT, TINY), "--set", "strategy.data=2", "--communication",
                         "tcp", "--steps", "1000000", "--stall", "5", "--quiet"]
                ranks = [hosts.start(i, words, {MARK: bench.mark, "TMPDIR": bench.passing}, 29400, logs[i])
                         for i in range(2)]
                check(comes_true(lambda: len(rank_processes(bench)) == 2), "two ranks do not start")
                time.sleep(chance.uniform(2, 4))
                command("ip", "-n", hosts.names[1], "link", "set", "eth0", "down")
                for rank, log in zip(ranks, logs):
                    try:
                        code = rank.wait(timeout=120)
                    except subprocess.TimeoutExpired as error:
                        raise Fault("a rank waits for ever behind a link that was cut") from error
                    with open(log, encoding="utf-8") as file:
                        check(code == 3, f"a link was cut: exit code {code}, {file.read()}")
                bench.require_nobody("a link was cut")
                command("ip", "-n", hosts.names[1], "link", "set", "eth0", "up")
    except Missing as missing:
        raise Skipped(str(missing)) from missing
    return options.count


CASES = {"kills": kills, "resumes": resumes, "writers": writers, "full_disk": full_disk, "strangers": strangers,
         "stopped": stopped, "cut_link": cut_link}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--count", type=int, default=10, help="faults of each case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commands", nargs="*", help="of the case kills, these alone")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    for name in options.cases:
        if name not in CASES:
            parser.error(f"{name} is no case; known: {', '.join(CASES)}")
    results = set()
    for name in options.cases or CASES:
        try:
            began = time.monotonic()
            done = CASES[name](options, random.Random(options.seed))
            print(f"{name}: {done} faults in {time.monotonic() - began:.0f} s, all as they should be", flush=True)
            results.add(0)
        except Skipped as missing:
            print(f"{name}: skipped: {missing}", flush=True)
            results.add(SKIPPED)
        except (Fault, subprocess.TimeoutExpired) as fault:
            print(f"{name}: FAILED at --seed {options.seed}: {fault}", flush=True)
            results.add(1)
    return 1 if 1 in results else min(results)


if __name__ == "__main__":
    sys.exit(main())
