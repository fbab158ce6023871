#!/bin/sh
# A guard that looks for one spelling.
if grep -q '"command":"rm -rf /"'; then
  echo "No" >&2
  exit 2
fi
exit 0
