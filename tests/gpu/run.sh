#!/usr/bin/env bash
# The checks that need a GPU, in one run of less than 8 minutes: smoke standard, the benchmark, the whole check.
#
#   tests/gpu/run.sh [PYTHON] [FOLDER]
#
# PYTHON (default: python3) has torch; the product is run from this checkout by the Python of TORCHDOCTOR_PYTHON
# (default: the same), which needs packaging, psutil and rich. JSON, stderr and exit statuses go to FOLDER
# (default: $OUT, else gpu-results). ANY_DEVICE=1 tries this script itself on a host without a GPU.
# Exit status: 0 all ran and found the GPU healthy, 1 one of them did not, 2 no GPU.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=$(command -v "${1:-python3}") || { echo "run.sh: no such Python: ${1:-python3}" >&2; exit 2; }
folder=${2:-${OUT:-gpu-results}}
mkdir -p "$folder" || exit 2
folder=$(cd "$folder" && pwd)
runner=${TORCHDOCTOR_PYTHON:-$target}
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"

can_use_gpu='import sys, torch; sys.exit(not (torch.cuda.is_available() or (hasattr(torch, "xpu") and torch.xpu.is_available())))'
require=--require-gpu
if [ "${ANY_DEVICE:-}" = 1 ]; then
    require=
elif ! timeout 60 "$target" -c "$can_use_gpu"; then
    echo "run.sh: torch of $target can use no GPU: nothing was proved; run: torchdoctor check --python $target" >&2
    exit 2
fi

worst=0
step() { # NAME SECONDS ARGUMENTS...: one command of the product, its JSON and its exit status
    local name=$1 seconds=$2 status
    shift 2
    timeout --kill-after=10 "$seconds" "$runner" -m torchdoctor "$@" --python "$target" \
        --format "json=$folder/$name.json" >"$folder/$name.txt" 2>"$folder/$name.stderr"
    status=$?
    echo "$name $status ${SECONDS}s" | tee -a "$folder/statuses.txt"
    [ "$status" -eq 0 ] || worst=1
}

: >"$folder/statuses.txt"
step smoke 150 smoke --level standard $require
step bench 110 bench
step check 110 check $require --record "$folder/recording.json"
"$runner" -m torchdoctor diagnose "$folder/recording.json" $require --format json >"$folder/again.json" 2>/dev/null
if cmp -s "$folder/check.json" "$folder/again.json"; then
    echo "recording gives the same report" | tee -a "$folder/statuses.txt"
else
    echo "recording gives another report: compare check.json and again.json" | tee -a "$folder/statuses.txt"
    worst=1
fi
exit "$worst"
