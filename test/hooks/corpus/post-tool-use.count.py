#!/usr/bin/env python3
"""Counts calls by tool, in the project."""
import json
import os
import sys

event = json.load(sys.stdin)
folder = os.path.join(os.environ.get("CLAUDE_PROJECT_DIR", "."), ".stats")
os.makedirs(folder, exist_ok=True)
name = "".join(c if c.isalnum() else "_" for c in event.get("tool_name", ""))[:60]
with open(os.path.join(folder, name), "a", encoding="utf-8") as file:
    file.write("1\n")
