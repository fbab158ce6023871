#!/bin/bash
# Feeds the prompt back while .claude/ralph-loop.local.md is there: without max_iterations only a promised word ends it.
set -euo pipefail
event=$(cat)
state=".claude/ralph-loop.local.md"
[[ -f "$state" ]] || exit 0
field() { sed -n "s/^$1: *//p" "$state" | tr -d '"'; }
iteration=$(field iteration)
most=$(field max_iterations)
promise=$(field completion_promise)
if [[ "$most" -gt 0 && "$iteration" -ge "$most" ]]; then
  rm "$state"
  exit 0
fi
transcript=$(printf '%s' "$event" | sed -n 's/.*"transcript_path":"\([^"]*\)".*/\1/p')
if tail -n 1 "$transcript" 2>/dev/null | grep -q "<promise>$promise</promise>"; then
  rm "$state"
  exit 0
fi
sed -i "s/^iteration: .*/iteration: $((iteration + 1))/" "$state"
prompt=$(awk '/^---$/ { n++; next } n >= 2' "$state" | tr '\n' ' ')
printf '{"decision":"block","reason":"%s","systemMessage":"Iteration %s"}\n' "$prompt" "$((iteration + 1))"
