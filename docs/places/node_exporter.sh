#!/bin/sh
# By cron or a timer of systemd: every finding as 0 or 1, for the textfile collector of node_exporter.
folder=${TEXTFILE_COLLECTOR:-/var/lib/node_exporter/textfile_collector}
torchdoctor=${TORCHDOCTOR:-/opt/torchdoctor/bin/torchdoctor}
exec "$torchdoctor" check --static --format "prometheus=$folder/torchdoctor.prom"
