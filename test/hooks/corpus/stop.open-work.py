#!/usr/bin/env python3
"""Sends the agent back once while there is a list of open work, and says which."""
import json
import os
import sys

event = json.load(sys.stdin)
if event.get("stop_hook_active"):
    sys.exit(0)
path = os.path.join(event["cwd"], "TODO.md")
if os.path.exists(path):
    with open(path, encoding="utf-8") as file:
        left = [line.strip() for line in file if line.startswith("- [ ]")]
    if left:
        print(json.dumps({"decision": "block", "reason": "Still open:\n" + "\n".join(left[:20])}))
