#!/bin/sh
# Makes the account that the systemd unit runs as. Nothing is started: a steerer needs its settings first.
set -e
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers yardmaster.conf
elif ! id yardmaster >/dev/null 2>&1 && command -v useradd >/dev/null; then
  useradd --system --user-group --no-create-home --home-dir /var/lib/yardmaster --shell /usr/sbin/nologin yardmaster
fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi # an image may be built where systemd runs and cannot be asked
