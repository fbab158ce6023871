#!/usr/bin/env python3
"""Reads a field that is not always there: the guard falls over, and lets everything through."""
import json
import sys

event = json.load(sys.stdin)
if event["tool_input"]["new_string"] == "":
    print("Do not empty files", file=sys.stderr)
    sys.exit(2)
