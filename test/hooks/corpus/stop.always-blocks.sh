#!/bin/sh
# Sends the agent back for good: nothing it could do is ever looked at.
cat >/dev/null
echo "Have you thought of everything?" >&2
exit 2
