#!/bin/sh
# Reminds at every stop, also at the one after its reminder.
cat >/dev/null
printf '{"decision":"block","reason":"Document what you changed in docs/"}\n'
