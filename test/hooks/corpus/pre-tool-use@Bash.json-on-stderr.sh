#!/bin/sh
# The right words on the wrong channel.
if grep -q 'git push'; then
  echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Pushing is for people"}}' >&2
fi
exit 0
