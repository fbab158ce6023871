#!/bin/sh
# Counts on a variable that nobody set: the shell ends with code 2, and that blocks every command.
set -u
timeout=$(sed -n 's/.*"timeout":\([0-9]*\).*/\1/p')
if [ "${timeout:-0}" -gt "$LONGEST_COMMAND" ]; then
  echo "Too long" >&2
  exit 2
fi
exit 0
