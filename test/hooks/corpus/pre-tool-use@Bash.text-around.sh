#!/bin/sh
# A line for the developer, which makes plain text of the verdict below it.
cat >/dev/null
echo "checking the command ..."
echo '{"decision":"block","reason":"Not in this project"}'
