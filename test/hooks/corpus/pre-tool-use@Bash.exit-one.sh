#!/bin/sh
# Means to block, and lets it through: only exit code 2 blocks.
if grep -q 'rm -rf'; then
  echo "Blocked: rm -rf is not allowed" >&2
  exit 1
fi
exit 0
