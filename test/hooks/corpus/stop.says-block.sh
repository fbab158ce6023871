#!/bin/sh
# As many plugins do it: JSON, a good reason, and no look at stop_hook_active.
cat >/dev/null
printf '{"decision":"block","reason":"Run the linter before you finish"}\n'
