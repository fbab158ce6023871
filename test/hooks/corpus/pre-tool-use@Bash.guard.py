#!/usr/bin/env python3
"""Refuses to publish. Reads the event with a real parser, and answers with a reason."""
import json
import sys

event = json.load(sys.stdin)
command = event.get("tool_input", {}).get("command", "")
if isinstance(command, str) and "publish" in command:
    print("Publishing is for people", file=sys.stderr)
    sys.exit(2)
