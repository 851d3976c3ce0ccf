"""Runs over several hosts as users start them: launchers_test.py ssh|slurm TOOLS BUILD. Hosts are network namespaces
that share no folder for temporary files with the launcher. No test looks at how long anything took."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

TEST, TOOLS, BUILD = sys.argv[1:4]
sys.path.insert(0, TOOLS)
from common import SCENARIO, SKIPPED, check  # noqa: E402
from namespaces import BRIDGE, Hosts, Missing, command, read  # noqa: E402

HERE = "10.87.0.254"  # the launcher's address, beside those of the hosts
ORRERY = os.path.join(BUILD, "orrery")
TWO_RANKS = ["--set", "strategy.data=2", "--set", "cluster.nodes=2", "--set", "cluster.gpus_per_node=1"]


def need(*programs):
    for program in programs:
        if shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
            raise Missing(f"no program `{program}`")


class Stage:
    """Two hosts with a daemon each, a scenario, and a folder for temporary files that the hosts do not see."""

    def __init__(self, hosts, folder):
        self.hosts, self.folder, self.daemons = hosts, folder, []
        alone = dict(SCENARIO, cluster=dict(SCENARIO["cluster"], nodes=1))
        self.scenario = self.write("scenario.json", json.dumps(alone))
        self.own = os.path.join(folder, "launcher")
        os.mkdir(self.own)
        self.names = self.write("names", read("/etc/hosts") + f"{HERE} {os.uname().nodename}\n" + "".join(
            f"{hosts.address(i)} {name}\n" for i, name in enumerate(hosts.names)))
        command("ip", "addr", "add", HERE + "/24", "dev", BRIDGE)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def daemon(self, *words, log, host=None):
        into = []
        if host:
            prepare = f'mount --bind {self.names} /etc/hosts; mount -t tmpfs none {self.own}; hostname "$0"; exec "$@"'
            into = ["nsenter", f"--net=/run/netns/{host}", "unshare", "--uts", "--mount", "sh", "-c", prepare, host]
        with open(os.path.join(self.folder, log), "w", encoding="utf-8") as file:
            self.daemons.append(subprocess.Popen(into + list(words), stdout=file, stderr=subprocess.STDOUT))

    def stop(self):
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(timeout=5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def start(self, before, arguments, **environment):
        words = before + [ORRERY, "run", self.scenario, "--quiet"] + arguments
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                env=dict(os.environ, TMPDIR=self.own, **environment))

    def losses(self, before, arguments, **environment):
        out = os.path.join(self.folder, "out.json")
        if os.path.exists(out):
            os.remove(out)
        run = self.start(before, arguments + ["--steps", "4", "--json", out], **environment)
        text = run.communicate(timeout=100)[1]
        check(run.returncode == 0, f"{before} {arguments}: {run.returncode}, {text}")
        with open(out, encoding="utf-8") as file:
            measured = json.load(file)["measured"]
        return [step["loss"] for step in measured["steps"]], [rank["host"] for rank in measured["ranks"]]

    def same_as_alone(self, before, arguments, **environment):
        """Two ranks on two hosts learn what one rank learns here."""
        alone, _ = self.losses([], [])
        together, where = self.losses(before, TWO_RANKS + arguments, **environment)
        check(where == self.hosts.names, f"{before} {arguments}: ranks ran on {where}")
        check(all(abs(a - b) < 1e-4 for a, b in zip(alone, together)), f"{alone} and {together}")

    def processes(self, host):
        """Of orrery-device on a host."""
        pids = subprocess.run(["ip", "netns", "pids", host], stdout=subprocess.PIPE, text=True, check=False).stdout
        return [pid for pid in pids.split() if os.path.basename(program_of(pid)) == "orrery-device"]


def program_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def predict_and_run(stage, listed, agent):
    """validate --run on hosts: their collectives are measured, the step is predicted, then run."""
    case = "strategy.data=2 cluster.nodes={} cluster.gpus_per_node=1"
    words = [ORRERY, "validate", "--run", stage.scenario, "--hosts", listed, "--steps", "5", "--tolerance", "1000"]
    env = dict(os.environ, TMPDIR=stage.own, OMPI_MCA_plm_rsh_agent=agent)

    def validate(nodes):
        return subprocess.run(words + ["--case", case.format(nodes), "--json", "rows.json"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, cwd=stage.folder, env=env, timeout=100, check=False)
    hidden = subprocess.run([ORRERY, "calibrate", "--ranks", "2", "--hosts", listed, "--suite", "pointwise", "--budget",
                             "2s", "--out", os.path.join(stage.own, "profile.json")], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env=env, timeout=100, check=False)
    check(hidden.returncode == 2 and "does not share this folder" in hidden.stdout, hidden.stdout)
    wrong = validate(4)
    check(wrong.returncode == 2 and "/cluster/nodes: is 4" in wrong.stdout, wrong.stdout)
    done = validate(2)
    check(done.returncode == 0, done.stdout)
    profile = json.loads(read(os.path.join(stage.folder, "calibrated", "cpu-2ranks-2hosts.json")))
    check(all(table["nodes"] == 2 for table in profile["collectives"]) and profile["collectives"], profile)
    row, = json.loads(read(os.path.join(stage.folder, "rows.json")))["rows"]
    check(row["predicted_s"] > 0 and row["measured_s"] > 0, row)


def shared_sweep(stage, launcher, **environment):
    """orrery-worker: ranks on both hosts answer what one process answers, to the byte."""
    words = ["sweep", os.path.join(TOOLS, "..", "..", "scenarios", "gpt-1.7b-dgx-a100.json"), "--vary",
             "strategy.tensor=1,2,4,8", "--vary", "training.micro_batch_size=1..8x2", "--quiet", "--csv"]
    written = [os.path.join(stage.folder, name) for name in ("alone.csv", "shared.csv")]
    for program, file in (([ORRERY], written[0]), (launcher + [ORRERY + "-worker"], written[1])):
        done = subprocess.run(program + words + [file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=dict(os.environ, **environment), timeout=100, check=False)
        check(done.returncode == 0, done.stdout)
    check(read(written[0]) == read(written[1]) != "", "other bytes")
    for file in written:
        os.remove(file)


def ssh():
    """--hosts: mpirun reaches the hosts by ssh. One that is killed, and one that stands still, end the run."""
    need("sshd", "ssh", "ssh-keygen", "mpirun")
    with Hosts(2, "1gbit") as hosts, tempfile.TemporaryDirectory() as folder:
        stage = Stage(hosts, folder)
        host_key, user_key = os.path.join(folder, "host"), os.path.join(folder, "user")
        for key in (host_key, user_key):
            command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        os.makedirs("/run/sshd", exist_ok=True)  # sshd wants it to be there
        sshd = shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin")
        for i, host in enumerate(hosts.names):
            stage.daemon(sshd, "-D", "-e", "-f", "/dev/null", "-h", host_key, "-o", "StrictModes=no", "-o",
                         "UsePAM=no", "-o", f"AuthorizedKeysFile={user_key}.pub", "-o", f"PidFile={folder}/pid{i}",
                         log=f"sshd{i}", host=host)
        agent = f"ssh -i {user_key} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
        listed = stage.write("hosts", "".join(f"{hosts.address(i)} slots=1\n" for i in range(2)))
        try:
            wait_for(lambda: all(reached(agent, hosts.address(i)) for i in range(2)), "sshd")
            stage.same_as_alone([], ["--hosts", listed], OMPI_MCA_plm_rsh_agent=agent)
            predict_and_run(stage, listed, agent)
            shared_sweep(stage, ["mpirun", "-n", "2", "--allow-run-as-root", "--hostfile", listed],
                         OMPI_MCA_plm_rsh_agent=agent, TMPDIR=stage.own)
            for signal, said in (("KILL", "share no files"), ("STOP", "no step has ended")):
                long = stage.start([], TWO_RANKS + ["--hosts", listed, "--steps", "100000", "--stall", "3"],
                                   OMPI_MCA_plm_rsh_agent=agent)
                wait_for(lambda: stage.processes(hosts.names[1]), "the second host's rank")
                time.sleep(2)  # some steps
                command("kill", "-" + signal, *stage.processes(hosts.names[1]))
                text = long.communicate(timeout=60)[1]
                check(long.returncode == 3 and said in text and "steps were run before" in text, text)
        finally:
            stage.stop()


def reached(agent, address):
    return subprocess.run(agent.split() + ["-o", "BatchMode=yes", address, "true"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def wait_for(condition, what):
    deadline = time.monotonic() + 30
    while not condition():
        check(time.monotonic() < deadline, f"{what}: not within 30 s")
        time.sleep(0.2)


SLURM = """ClusterName=orrery
SlurmctldHost={here}({address})
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
TmpFS={folder}/tmp-%n
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def slurm():
    """Ranks of a Slurm job: by srun over PMIx or plain TCP, and by mpirun inside an allocation."""
    need("slurmctld", "slurmd", "srun", "salloc", "munged", "mpirun")
    if subprocess.run(["pgrep", "-x", "munged"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
        raise Missing("no running munged")
    with Hosts(2, "1gbit") as hosts, tempfile.TemporaryDirectory() as folder:
        stage = Stage(hosts, folder)
        nodes = "".join(f"NodeName={name} NodeAddr={hosts.address(i)} CPUs=2\n" for i, name in enumerate(hosts.names))
        os.environ["SLURM_CONF"] = stage.write("slurm.conf", SLURM.format(
            here=os.uname().nodename, address=HERE, folder=folder, nodes=nodes))
        for name in ["state"] + ["tmp-" + host for host in hosts.names]:
            os.mkdir(os.path.join(folder, name))
        stage.daemon(shutil.which("slurmctld", path="/usr/sbin:/sbin"), "-D", "-c", log="slurmctld")
        for host in hosts.names:
            stage.daemon(shutil.which("slurmd", path="/usr/sbin:/sbin"), "-D", "-N", host, log=host, host=host)
        job = ["-Q", "-N2", "-n2"]
        try:
            wait_for(lambda: sinfo().count("idle") == 2, "two idle nodes")
            stage.same_as_alone(["srun", "--mpi=pmix"] + job, [])
            shared_sweep(stage, ["srun", "--mpi=pmix"] + job)
            os.environ["ORRERY_SECRET"] = "a secret of this test"  # srun passes it on
            stage.same_as_alone(["srun"] + job, ["--communication", "tcp"])
            del os.environ["ORRERY_SECRET"]
            stage.same_as_alone(["salloc"] + job, [])
            script = stage.write("batch", '#!/bin/sh\nexec "$@"\n')
            stage.same_as_alone(["sbatch", "--wait", "-o", os.path.join(folder, "batch.out")] + job + [script], [])
            wrong = stage.start(["srun"] + job, [])
            text = wrong.communicate(timeout=60)[1]
            check(wrong.returncode == 2 and "this job has 2 ranks, the run needs 1" in text, text)
        finally:
            stage.stop()


def sinfo():
    return subprocess.run(["sinfo", "-h", "-N", "-o", "%t"], stdout=subprocess.PIPE, text=True, check=False).stdout


try:
    {"ssh": ssh, "slurm": slurm}[TEST]()
except Missing as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)
