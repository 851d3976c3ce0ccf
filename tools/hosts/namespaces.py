"""Hosts as network namespaces: each with its own address and name, joined by a bridge, their links shaped by tbf."""
import fcntl
import os
import shutil
import subprocess

PREFIX = "orrery-host"
BRIDGE = "orrery-bridge"
LOCK = "/tmp/orrery-hosts.lock"
# A packet that the kernel hands over is up to 64 KiB before it is cut: the bucket holds four, so that a timer that is
# late by a packet's 0.5 ms loses no rate.
BURST_BYTES = 256 * 1024
LIMIT_BYTES = 4 * 1024 * 1024  # more than all windows together: nothing is dropped


class Missing(Exception):
    """What this machine lacks."""


def quiet(*words):
    """Runs a command whose failure does not matter."""
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def command(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Missing(f"`{' '.join(words)}` failed: {done.stdout.strip()}")


def require():
    """Throws Missing, with the reason, where hosts cannot be made."""
    if os.geteuid() != 0:
        raise Missing("network namespaces need root")
    for program in ("ip", "tc", "unshare"):
        if shutil.which(program) is None:
            raise Missing(f"no program `{program}` (Debian: iproute2, util-linux)")


class Hosts:
    """with Hosts(4, "1gbit") as hosts: four hosts; they are gone afterwards, whatever happens."""

    def __init__(self, count, rate):
        self.names = [f"{PREFIX}{i}" for i in range(count)]
        self.rate = rate
        self.lock = None

    def __enter__(self):
        require()
        self.lock = open(LOCK, "w")  # one set of hosts at a time
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
        quiet("ip", "link", "del", BRIDGE)

    def make(self):
        command("ip", "link", "add", BRIDGE, "type", "bridge")
        command("ip", "link", "set", BRIDGE, "up")
        for i, name in enumerate(self.names):
            port = f"orrery-port{i}"
            command("ip", "netns", "add", name)
            command("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            command("ip", "link", "set", port, "master", BRIDGE, "up")
            command("ip", "-n", name, "addr", "add", self.address(i) + "/24", "dev", "eth0")
            command("ip", "-n", name, "link", "set", "eth0", "up")
            command("ip", "-n", name, "link", "set", "lo", "up")
            shape = ["root", "tbf", "rate", self.rate, "burst", str(BURST_BYTES), "limit", str(LIMIT_BYTES)]
            command("tc", "-n", name, "qdisc", "add", "dev", "eth0", *shape)  # what the host sends
            command("tc", "qdisc", "add", "dev", port, *shape)  # what it receives

    @staticmethod
    def address(i):
        return f"10.87.0.{i + 1}"

    def run(self, words, environment=None, timeout=600, port=29400):
        """The same command on every host, as ranks of one job (torchrun's variables). Returns the first one's output;
        throws RuntimeError with what was written when one fails."""
        ranks = []
        for i, name in enumerate(self.names):
            own = dict(os.environ, RANK=str(i), WORLD_SIZE=str(len(self.names)), LOCAL_RANK="0",
                       MASTER_ADDR=self.address(0), MASTER_PORT=str(port), **(environment or {}))
            start = ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', name]
            ranks.append(subprocess.Popen(start + list(words), env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                          text=True))
        try:
            texts = [rank.communicate(timeout=timeout)[0] for rank in ranks]
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"{' '.join(words)}: no end after {timeout} s") from error
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
        for i, rank in enumerate(ranks):
            if rank.returncode != 0:
                raise RuntimeError(f"{' '.join(words)}: {self.names[i]} ended with {rank.returncode}:\n{texts[i]}")
        return texts[0]
