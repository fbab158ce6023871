#!/bin/sh
# The same mistake one level down.
cat >/dev/null
echo "Report in more detail" >&2
exit 2
