#!/bin/sh
# The agent may not stop before the tests pass.
grep -q passed test.log 2> /dev/null || { echo "The tests fail: repair them" >&2; exit 2; }
