#!/bin/sh
# By cron or a timer of systemd: every finding as 0 or 1, for the textfile collector of node_exporter.
# The node is watched, and no torch: that is in the environments of the jobs, and none is needed beside torchdoctor. To
# watch one of those with the node, give its Python, which is then started: node_exporter.sh /srv/ml/bin/python
folder=${TEXTFILE_COLLECTOR:-/var/lib/node_exporter/textfile_collector}
torchdoctor=${TORCHDOCTOR:-/opt/torchdoctor/bin/torchdoctor}
if [ -n "$1" ]; then set -- --python "$1"; else set -- --ignore torch-missing; fi
exec "$torchdoctor" check --static --no-config "$@" --format "prometheus=$folder/torchdoctor.prom"
