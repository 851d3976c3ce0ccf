"""Hosts as network namespaces: each with its own address and name, joined by a bridge, their links shaped by tbf."""
import fcntl
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PREFIX = "orrery-host"
BRIDGE = "orrery-bridge"
PORT = "orrery-port"
LOCK = "/tmp/orrery-hosts.lock"
# What a link that was idle lets through at once, faster than its rate: little beside a message, and enough for a timer
# that is late. Packets leave a host in pieces of at most PACKET_BYTES before they are cut to the wire's size.
BURST_BYTES = 96 * 1024
PACKET_BYTES = 32 * 1024
LIMIT_BYTES = 4 * 1024 * 1024  # more than all windows together: nothing is dropped

SECRET = secrets.token_hex(16)  # that ranks of these hosts know each other by


class Missing(Exception):
    """What this machine lacks."""


def quiet(*words):
    """Runs a command whose failure does not matter."""
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def command(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"`{' '.join(words)}` failed: {done.stdout.strip()}")


def require():
    """Throws Missing, with the reason, where hosts cannot be made."""
    if os.geteuid() != 0:
        raise Missing("network namespaces need root")
    for program in ("ip", "tc", "unshare", "chrt"):
        if shutil.which(program) is None:
            raise Missing(f"no program `{program}` (Debian: iproute2, util-linux)")
    probe = f"{PREFIX}-probe"
    quiet("ip", "netns", "del", probe)
    try:
        command("ip", "netns", "add", probe)
        command("ip", "-n", probe, "link", "add", "name", "veth0", "type", "veth", "peer", "name", "veth1")
        command("ip", "-n", probe, "link", "add", "name", "bridge0", "type", "bridge")
        command("tc", "-n", probe, "qdisc", "add", "dev", "veth0", *shaping("1gbit"))
        command("ip", "netns", "exec", probe, "chrt", "-r", "1", "unshare", "--uts", "true")
    except RuntimeError as error:
        raise Missing(str(error)) from error
    finally:
        quiet("ip", "netns", "del", probe)


def shaping(rate):
    return ["root", "tbf", "rate", rate, "burst", str(BURST_BYTES), "limit", str(LIMIT_BYTES)]


class Hosts:
    """with Hosts(4, "1gbit") as hosts: four hosts; they are gone afterwards, whatever happens.

    priority: words before the ranks' command. Round robin, the default, comes before all that is not real time:
    whatever else runs here, a rank that can go on does. Ranks that compute for long share cores by niceness instead."""

    def __init__(self, count, rate, priority=("chrt", "-r", "1")):
        self.names = [f"{PREFIX}{i}" for i in range(count)]
        self.rate = rate
        self.priority = list(priority)
        self.lock = None

    def __enter__(self):
        require()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what follows is cleaned up
        self.lock = open(LOCK, "w", encoding="utf-8")  # one set of hosts at a time
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.remove()
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.remove()
        self.lock.close()

    @staticmethod
    def remove():
        """What is there, of this run or of one that was killed."""
        listed = subprocess.run(["ip", "netns", "list"], stdout=subprocess.PIPE, text=True, check=False).stdout
        for line in listed.splitlines():
            name = line.split()[0]
            if not name.startswith(PREFIX):
                continue
            inside = subprocess.run(["ip", "netns", "pids", name], stdout=subprocess.PIPE, text=True, check=False)
            for pid in inside.stdout.split():
                quiet("kill", "-9", pid)
            quiet("ip", "netns", "del", name)
        # The kernel takes its time over a namespace: its links would be in the way of the next one's.
        for entry in os.listdir("/sys/class/net"):
            if entry.startswith(PORT) or entry == BRIDGE:
                quiet("ip", "link", "del", entry)

    def make(self):
        command("ip", "link", "add", BRIDGE, "type", "bridge")
        command("ip", "link", "set", BRIDGE, "up")
        for i, name in enumerate(self.names):
            port = f"{PORT}{i}"
            command("ip", "netns", "add", name)
            command("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            command("ip", "link", "set", port, "master", BRIDGE, "gso_max_size", str(PACKET_BYTES), "up")
            command("ip", "-n", name, "addr", "add", self.address(i) + "/24", "dev", "eth0")
            command("ip", "-n", name, "link", "set", "eth0", "gso_max_size", str(PACKET_BYTES), "up")
            command("ip", "-n", name, "link", "set", "lo", "up")
            command("tc", "-n", name, "qdisc", "add", "dev", "eth0", *shaping(self.rate))  # what the host sends
            command("tc", "qdisc", "add", "dev", port, *shaping(self.rate))  # what it receives

    @staticmethod
    def address(i):
        return f"10.87.0.{i + 1}"

    def run(self, words, environment=None, timeout=300, port=29400):
        """The same command on every host, as ranks of one job (torchrun's variables). Returns the first one's output;
        throws RuntimeError with what was written when one fails, which ends the others."""
        with tempfile.TemporaryDirectory() as folder:
            logs = [os.path.join(folder, name) for name in self.names]
            ranks = []
            try:
                for i in range(len(self.names)):
                    ranks.append(self.start(i, words, environment or {}, port, logs[i]))
                self.wait(ranks, logs, words, time.monotonic() + timeout)
            finally:
                for rank in ranks:
                    rank.kill()
                    rank.wait()
            return read(logs[0])

    def start(self, i, words, environment, port, log):
        name = self.names[i]
        own = dict(os.environ, RANK=str(i), WORLD_SIZE=str(len(self.names)), LOCAL_RANK="0",
                   MASTER_ADDR=self.address(0), MASTER_PORT=str(port), ORRERY_SECRET=SECRET, **environment)
        into = self.priority + ["ip", "netns", "exec", name, "unshare", "--uts"]
        with open(log, "w", encoding="utf-8") as file:
            return subprocess.Popen(into + ["sh", "-c", 'hostname "$0" && exec "$@"', name] + list(words), env=own,
                                    stdout=file, stderr=subprocess.STDOUT)

    def wait(self, ranks, logs, words, deadline):
        left = dict(enumerate(ranks))
        while left:
            time.sleep(0.05)
            for i in [i for i, rank in left.items() if rank.poll() is not None]:
                if left.pop(i).returncode != 0:
                    raise RuntimeError(f"{' '.join(words)}: {self.names[i]} ended with {ranks[i].returncode}:\n"
                                       + read(logs[i]))
            if time.monotonic() > deadline:
                raise RuntimeError(f"{' '.join(words)}: no end on {', '.join(self.names[i] for i in left)}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()
