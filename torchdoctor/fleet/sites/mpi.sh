#!/bin/sh
# One report of each host of an MPI host file, merged; then the network between them.
# usage: FILE [HOSTFILE]
set -u
hostfile=${1:-hostfile}
reports=@FOLDER@
mkdir -p "$reports"
# shellcheck disable=SC2016 # the host's own shell fills these in
mpirun --hostfile "$hostfile" --map-by ppr:1:node sh -c 'timeout -k 10 300 "$1" -m torchdoctor check --level quick -q \
  --format "json=$2/$(hostname -s).json"; exit 0' check @PYTHON@ "$reports"
@PYTHON@ -m torchdoctor fleet "$reports" --expect "$(awk '!/^#/ && NF {print $1}' "$hostfile")"
compared=$?
head=$(awk '!/^#/ && NF {print $1; exit}' "$hostfile")
timeout -k 10 300 mpirun --hostfile "$hostfile" --map-by ppr:@PROCESSES@:node -x MASTER_ADDR="$head" -x MASTER_PORT=29500 \
  @PYTHON@ -m torchdoctor.net --output "$reports"
talked=$?
[ "$compared" -gt "$talked" ] && exit "$compared"
exit "$talked"
