#!/bin/sh
# A steerer restores what it changed when it stops, and its unit restores with this program: stop steerers before it goes. An upgrade leaves them running.
case $1 in
remove | 0) if [ -d /run/systemd/system ]; then systemctl stop 'yardmaster-steer@*.service' || echo "yardmaster: a steerer did not stop: see docs/who-restores-when.md" >&2; fi ;;
esac
exit 0
