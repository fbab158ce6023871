#!/bin/sh
# Starts itself twice, and each of those twice again: three levels, and then it waits.
level=${1:-0}
[ "$level" -eq 0 ] && cat >/dev/null
if [ "$level" -ge 2 ]; then
  exec sleep 120
fi
sh "$0" $((level + 1)) >/dev/null 2>&1 </dev/null &
sh "$0" $((level + 1)) >/dev/null 2>&1 </dev/null &
exit 0
