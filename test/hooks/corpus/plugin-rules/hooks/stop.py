#!/usr/bin/env python3
"""Blocks while a rule of .claude/hookify.*.local.md matches: it never looks at stop_hook_active."""
import glob
import json
import re
import sys

event = json.load(sys.stdin)
try:
    with open(event.get("transcript_path", ""), encoding="utf-8") as file:
        transcript = file.read()
except OSError:
    transcript = ""
for path in sorted(glob.glob(".claude/hookify.*.local.md")):
    with open(path, encoding="utf-8") as file:
        _, head, message = file.read().split("---", 2)
    fields = dict(re.findall(r"^\s*-?\s*(\w+): *(.+)$", head, re.M))
    if fields.get("enabled") != "true" or fields.get("event") != "stop" or fields.get("action") != "block":
        continue
    if not re.search(fields["pattern"], transcript):
        print(json.dumps({"decision": "block", "reason": message.strip()}))
        break
