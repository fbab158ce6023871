#!/bin/sh
# Nothing is deleted.
grep -q 'rm -rf' && { echo "Nothing is deleted here" >&2; exit 2; }
exit 0
