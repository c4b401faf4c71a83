"""A Slurm of its own: a controller and some nodes on this host, in a temporary folder, on free ports.

with Cluster(nodes=3) as cluster:   # environment: cluster.environment
    cluster.kill_node("n2", pid)"""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo"]

CONF = """ClusterName=tegula
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,batch_sched_delay=1
SlurmdTimeout=4
ReturnToService=2
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports[1]}-{last}] CPUs=1
PartitionName=all Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP
"""


def program(name):
    """The path of a daemon, which may lie outside of users' PATH; None: it is not installed."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def free_ports(count):
    """As many ports in a row that nobody listens on now."""
    while True:
        with socket.socket() as first:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
        sockets = []
        try:
            for i in range(count):
                sockets.append(socket.socket())
                sockets[-1].bind(("127.0.0.1", port + i))
            return list(range(port, port + count))
        except (OSError, OverflowError):
            continue
        finally:
            for one in sockets:
                one.close()


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


class Cluster:
    def __init__(self, nodes):
        self.nodes = nodes
        self.daemons = {}

    def __enter__(self):
        for attempt in range(3):
            self.folder = tempfile.mkdtemp(prefix="tegula-slurm-")
            self.environment = dict(os.environ, SLURM_CONF=self.folder + "/slurm.conf")
            self.start()
            if self.comes_up():
                return self
            said = self.logs()
            self.__exit__()
        raise SystemExit("no Slurm comes up here:\n" + said)

    def spawn(self, name, *arguments):
        with open(f"{self.folder}/{name}.out", "w", encoding="utf-8") as out:
            self.daemons[name] = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self.environment)

    def start(self):
        host, ports = socket.gethostname().partition(".")[0], free_ports(self.nodes + 1)
        with open(self.folder + "/slurm.conf", "w", encoding="utf-8") as file:
            file.write(CONF.format(host=host, ports=ports, last=ports[-1], user=getpass.getuser(), folder=self.folder, nodes=self.nodes))
        with open(os.open(self.folder + "/munge.key", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(os.urandom(1024))
        for folder in ["state"] + [f"spool-n{i + 1}" for i in range(self.nodes)]:
            os.mkdir(f"{self.folder}/{folder}")
        self.spawn("munged", program("munged"), "--foreground", "--force", "--socket=" + self.folder + "/munge.socket",
                   "--key-file=" + self.folder + "/munge.key", "--pid-file=" + self.folder + "/munge.pid",
                   "--log-file=" + self.folder + "/munge.log", "--seed-file=" + self.folder + "/munge.seed")
        end = time.monotonic() + 10
        while not os.path.exists(self.folder + "/munge.socket") and time.monotonic() < end:
            time.sleep(0.05)
        self.spawn("slurmctld", program("slurmctld"), "-D", "-f", self.folder + "/slurm.conf")
        for i in range(self.nodes):
            self.spawn(f"n{i + 1}", program("slurmd"), "-D", "-N", f"n{i + 1}", "-f", self.folder + "/slurm.conf")

    def ask(self, *words):
        return subprocess.run(words, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                              encoding="utf-8").stdout

    def comes_up(self):
        end = time.monotonic() + 30
        while time.monotonic() < end and all(daemon.poll() is None for daemon in self.daemons.values()):
            if self.ask("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * self.nodes:
                return True
            time.sleep(0.2)
        return False

    def logs(self):
        text = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".out")):
                with open(f"{self.folder}/{name}", encoding="utf-8", errors="replace") as file:
                    text += f"{name}:\n" + "".join(file.readlines()[-5:])
        return text

    def kill_node(self, node, pid):
        """What a power failure leaves: neither the node's daemon nor the job that `pid` is of."""
        self.daemons[node].kill()
        self.daemons[node].wait()
        doomed = [pid]
        while name_of(doomed[-1]) != "slurmstepd" and parent_of(doomed[-1]) > 1:
            doomed.append(parent_of(doomed[-1]))
        for one in reversed(doomed):
            os.kill(one, signal.SIGKILL)

    def __exit__(self, *exception):
        self.ask("scancel", "--quiet", "--user=" + getpass.getuser())
        end = time.monotonic() + 5
        while self.ask("squeue", "-h").strip() and time.monotonic() < end:
            time.sleep(0.1)
        for name in reversed(list(self.daemons)):
            self.daemons[name].terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons = {}
        shutil.rmtree(self.folder, ignore_errors=True)
