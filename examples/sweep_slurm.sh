#!/usr/bin/env bash
# A sweep as a Slurm array: eight tasks, each with several configurations.
#
#   sbatch sweep_slurm.sh sweep.toml /shared/results
#   sbatch --array=3,6 sweep_slurm.sh sweep.toml /shared/results     tasks that failed, again
#
# A task that would fail again ends with exit code 8: sacct -j JOB --format=JobID,State,ExitCode
#SBATCH --job-name=vlflab-sweep
#SBATCH --array=0-7
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail
sweep=$1 results=$2
# Databases lie on the node's own disk. With --shards a task's number is its shard, in whichever submission.
scratch=$(mktemp -d "${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/sweep.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
srun vlflab sweep "$sweep" --out "$results" --data "$scratch" --shards 8 --jobs "${SLURM_CPUS_PER_TASK:-1}"
