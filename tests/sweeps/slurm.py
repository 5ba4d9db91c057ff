#!/usr/bin/env python3
"""A sweep by a real Slurm of one node, started here: tasks that are killed at random and run again give the bytes of one machine.

    tests/sweeps/slurm.py                               80 configurations
    tests/sweeps/slurm.py --configurations 2000         as many as a night's sweep has
    VLFLAB=FILE tests/sweeps/slurm.py                   this program [default: target/debug/vlflab]

What is submitted is examples/sweep_slurm.sh, as it is. The program of three of its tasks is killed (scancel --signal=KILL), which fails them; when
all others are done the failed ones are submitted again, as the head of the example says. Then the same tasks are killed as a preemption
does it (scontrol requeue): Slurm runs them again by itself. munged, slurmctld and slurmd have all their files in one folder and ports
of their own, and end with the script; Slurm comes from Debian's slurm-wlm. Lines begin with `ok `, `FAIL ` or `skip `; the exit code is 0
if none begins with FAIL.
"""

import argparse
import contextlib
import filecmp
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = Path(os.environ.get("VLFLAB", ROOT / "target" / "debug" / "vlflab")).absolute()
EXAMPLE = ROOT / "examples" / "sweep_slurm.sh"
NEEDED = ["munged", "mungekey", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel", "sinfo"]
TASKS = 8
KILLED = 3
REPORTS = ["report.html", "report.md", "results.csv", "results.parquet"]
PATIENCE_S = 3600


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(what, is_so):
    """Asks until it is so; whoever is slow has an hour."""
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > until:
            raise RuntimeError(f"waited in vain for: {what}")
        time.sleep(0.05)


class Slurm:
    """munged, slurmctld and slurmd with all they have in one folder; use it in a `with` statement."""

    def __init__(self, folder):
        self.folder = folder
        self.programs = []
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        self.environment["SLURM_CONF"] = str(folder / "slurm.conf")
        # The example calls the program by its name, whatever that of its file is.
        self.bin = folder / "bin"
        self.environment["PATH"] = f"{self.bin}:{os.environ['PATH']}:/usr/sbin"

    def configure(self):
        name, user = socket.gethostname().split(".")[0], os.environ.get("USER") or subprocess.check_output(["id", "-un"], text=True).strip()
        for part in ["state", "spool", "bin"]:
            (self.folder / part).mkdir()
        (self.bin / "vlflab").symlink_to(PROGRAM)
        (self.folder / "slurm.conf").write_text(f"""ClusterName=tried
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={self.folder}/munge.socket
CredType=cred/munge
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=86400
JobCompType=jobcomp/filetxt
JobCompLoc={self.folder}/completed
NodeName={name} NodeAddr=127.0.0.1 CPUs={TASKS} State=UNKNOWN
PartitionName=all Nodes={name} Default=YES State=UP
""")

    def start(self, name, *arguments):
        log = open(self.folder / f"{name}.log", "w")
        started = subprocess.Popen([shutil.which(name, path=self.environment["PATH"]), *arguments], env=self.environment, stdout=log, stderr=log)
        self.programs.append((name, started))

    def __enter__(self):
        self.configure()
        key, munge_socket = self.folder / "munge.key", self.folder / "munge.socket"
        subprocess.run(["mungekey", "--create", f"--keyfile={key}"], env=self.environment, check=True)
        options = [f"--key-file={key}", f"--socket={munge_socket}", f"--pid-file={self.folder}/munge.pid"]
        options += [f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed"]
        try:
            self.start("munged", "--foreground", "--force", *options)
            self.wait_for("munged", munge_socket.exists)
            self.start("slurmctld", "-D")
            self.start("slurmd", "-D")
            self.wait_for("an idle node", lambda: "idle" in self.ask("sinfo", "--noheader", "--format=%T", fails=True))
        except BaseException:
            self.end()
            raise
        return self

    def wait_for(self, what, is_so):
        def is_so_or_ended():
            for name, program in self.programs:
                if program.poll() is not None:
                    raise RuntimeError(f"{name} ended: {(self.folder / f'{name}.log').read_text()[-2000:]}")
            return is_so()

        wait_until(what, is_so_or_ended)

    def end(self):
        for _, program in reversed(self.programs):
            program.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(20)
            program.kill()
            program.wait()

    def __exit__(self, *_):
        self.end()

    def ask(self, *command, fails=False):
        asked = subprocess.run(command, env=self.environment, capture_output=True, text=True, cwd=self.folder)
        if asked.returncode != 0 and not fails:
            raise RuntimeError(f"{' '.join(map(str, command))}: {asked.stderr}")
        return asked.stdout

    def submit(self, *arguments):
        """The number of the job."""
        return int(self.ask("sbatch", "--parsable", f"--output={self.folder}/task-%A-%a.log", *arguments).strip())

    def tasks(self, job):
        """Each task of the array that Slurm still knows: its state, exit code, and how often it was begun anew."""
        found = {}
        for line in self.ask("scontrol", "--oneliner", "show", "job", str(job), fails=True).splitlines():
            fields = dict(re.findall(r"(\w+)=(\S*)", line))
            if fields.get("ArrayTaskId", "").isdigit():
                found[int(fields["ArrayTaskId"])] = (fields["JobState"], fields["ExitCode"], int(fields["Restarts"]))
        return found

    def at_work(self, job):
        """The tasks whose program runs: those with a step."""
        steps = self.ask("squeue", "--steps", "--noheader", "--format=%i").split()
        return {int(step.removeprefix(f"{job}_").removesuffix(".0")) for step in steps if re.fullmatch(rf"{job}_\d+\.0", step)}

    def has_ended(self, job):
        ended = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"}
        tasks = self.tasks(job)
        return bool(tasks) and all(state in ended for state, _, _ in tasks.values())

    def wait_for_end(self, job):
        self.wait_for(f"the end of job {job}", lambda: self.has_ended(job))
        return self.tasks(job)


def sweep_file(folder, configurations):
    """Four configurations for each number of rows: two disks, two mechanisms."""
    for name in ["small.toml", "create.sql", "write.sql"]:
        shutil.copy(HERE / name, folder)
    rows = ", ".join(f"'{rows}'" for rows in range(1, configurations // 4 + 1))
    file = folder / "sweep.toml"
    file.write_text(
        f"name = 'small'\ntitle = 'A small log'\nexperiments = ['small.toml']\ndisks = ['nvme-plp', 'hdd-7200-2006']\n"
        f"log_policies = ['native', 'classic']\n[variables]\nrows = [{rows}]\n"
    )
    return file


def results_in(folder):
    return len(list(folder.glob("*.jsonl"))) if folder.exists() else 0


def kill_some(slurm, job, results, at, dice, how):
    """Kills a running task of the job each time that there are so many results more; answers which."""
    killed = []
    for count in at:
        wait_until(f"{count} results", lambda: results_in(results) >= count or slurm.has_ended(job))
        candidates = sorted(slurm.at_work(job) - set(killed))
        assert candidates, f"at {count} results no task of job {job} is at work: {slurm.tasks(job)}"
        task = dice.choice(candidates)
        how(f"{job}_{task}")
        killed.append(task)
    return killed


def array(slurm, file, results, configurations, dice):
    """Two rounds of kills; answers what happened, in words."""
    told = []

    def moments(of):
        return sorted(dice.randrange(TASKS, of) for _ in range(KILLED))

    job = slurm.submit(EXAMPLE, file, results)
    killed = kill_some(slurm, job, results, moments(configurations // 2), dice, lambda task: slurm.ask("scancel", "--signal=KILL", f"{task}.0"))
    states = slurm.wait_for_end(job)
    failed = sorted(task for task, (state, _, _) in states.items() if state == "FAILED")
    assert failed == sorted(killed) and len(failed) == KILLED, f"killed {killed}, and Slurm says {states}"
    there = results_in(results)
    assert there < configurations, "tasks were killed when all their results were there"
    told.append(f"tasks {failed} of 0-{TASKS - 1} killed and FAILED, {there} of {configurations} results")

    again = slurm.submit(f"--array={','.join(map(str, failed))}", EXAMPLE, file, results)
    killed = kill_some(slurm, again, results, moments_after(there, configurations, dice), dice, lambda task: slurm.ask("scontrol", "requeue", task))
    states = slurm.wait_for_end(again)
    assert all(state == "COMPLETED" for state, _, _ in states.values()), states
    begun_anew = sorted(task for task, (_, _, restarts) in states.items() if restarts > 0)
    assert begun_anew == sorted(killed) and killed, f"requeued {killed}, and Slurm says {states}"
    told.append(f"submitted again alone; tasks {begun_anew} requeued while they ran; all COMPLETED")
    return told


def moments_after(there, configurations, dice):
    """Results at which tasks are killed that have the rest to do."""
    return sorted(dice.randrange(there, there + max(1, (configurations - there) // 2)) for _ in range(KILLED))


def vlflab(*arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
    ran = subprocess.run([PROGRAM, *map(str, arguments)], env=environment, capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(f"vlflab {' '.join(map(str, arguments))} ended with {ran.returncode}: {ran.stderr[-2000:]}")


def tried(folder, configurations, seed):
    file = sweep_file(folder, configurations)
    one, results = folder / "one", folder / "results"
    begin = time.monotonic()
    vlflab("sweep", file, "--out", one, "--jobs", str(TASKS))
    alone_s = time.monotonic() - begin
    begin = time.monotonic()
    (folder / "slurm").mkdir()
    with Slurm(folder / "slurm") as slurm:
        version = slurm.ask("sinfo", "--version").strip()
        told = array(slurm, file, results, configurations, random.Random(seed))
    slurm_s = time.monotonic() - begin
    assert results_in(results) == configurations, f"{results_in(results)} results"
    for results_of in [one, results]:
        vlflab("report", results_of)
    for name in REPORTS:
        if (one / name).exists() or name != "results.parquet":
            assert filecmp.cmp(one / name, results / name, shallow=False), f"{name} differs"
    sizes = ", ".join(f"{name} {(one / name).stat().st_size} bytes" for name in REPORTS if (one / name).exists())
    return [f"{version}: {line}" for line in told] + [
        f"{configurations} configurations alone in {alone_s:.0f} s, by Slurm with its kills in {slurm_s:.0f} s",
        f"the same bytes: {sizes}",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configurations", type=int, default=80, help="a multiple of 32 shares out evenly [80]")
    parser.add_argument("--seed", type=int, default=1, help="which tasks are killed, and when [1]")
    parser.add_argument("--keep", type=Path, help="a new folder that is left when the script ends, with the logs of Slurm")
    arguments = parser.parse_args()
    missing = [name for name in NEEDED if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    if missing:
        print(f"skip a sweep by Slurm: {', '.join(missing)} are not installed (apt-get install slurm-wlm)")
        return 0
    if not PROGRAM.exists():
        print(f"FAIL a sweep by Slurm: there is no {PROGRAM}; VLFLAB names another")
        return 1
    with contextlib.ExitStack() as stack:
        if arguments.keep:
            arguments.keep.mkdir(parents=True)
            folder = arguments.keep.resolve()
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vlflab-slurm-")))
        try:
            for line in tried(folder, arguments.configurations, arguments.seed):
                print(f"ok a sweep by Slurm: {line}")
        except (AssertionError, RuntimeError, subprocess.SubprocessError) as error:
            print(f"FAIL a sweep by Slurm: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
