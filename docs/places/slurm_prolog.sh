#!/bin/sh
# Prolog of Slurm: as root, with no PATH and within a minute; any status but 0 drains the node. So only what makes the
# node's GPUs useless to every job counts here, and a status of torchdoctor that is no finding (2, 3) drains nothing.
# What the torch beside torchdoctor could not use (driver-too-old) counts for nothing: the jobs bring a torch of their own.
torchdoctor=${TORCHDOCTOR:-/opt/torchdoctor/bin/torchdoctor}

[ -n "$SLURM_JOB_GPUS" ] || exit 0  # the job has asked for no GPU
verdict=$("$torchdoctor" check --static --no-config --timeout 10 -q \
    --select driver-missing,driver-not-loaded,driver-module-flavour,driver-library-mismatch,driver-permission \
    --select driver-dropped-gpu,gpu-lost,gpu-init-failed,uvm-not-loaded,fabric-manager-down)
[ $? -eq 1 ] || exit 0
echo "$verdict"  # slurmd writes it to its log
exit 1
