#!/bin/sh
# Sends the agent back once, and says what to do.
event=$(cat)
case "$event" in
*'"stop_hook_active":true'*) exit 0 ;;
esac
printf '{"decision":"block","reason":"Look at your change once more"}\n'
