#!/bin/sh
#SBATCH --job-name=torchdoctor
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
#SBATCH --time=00:15:00
# One report of each node, merged; then the network between them. Submit it: sbatch FILE
set -u
reports=torchdoctor-reports
mkdir -p "$reports"
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
# shellcheck disable=SC2016 # the node's own shell fills these in
srun --ntasks-per-node=1 sh -c 'timeout -k 10 300 "$1" -m torchdoctor check --level quick -q \
  --format "json=$2/$(hostname -s).json"' check python3 "$reports"
python3 -m torchdoctor fleet "$reports" --expect "$hosts"
compared=$?
head=$(echo "$hosts" | head -n 1)
srun --ntasks-per-node=1 timeout -k 10 300 python3 -m torch.distributed.run --nnodes=2 \
  --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint="$head:29500" --rdzv-id="$SLURM_JOB_ID" \
  -m torchdoctor.net --output "$reports"
talked=$?
[ "$compared" -gt "$talked" ] && exit "$compared"
exit "$talked"
