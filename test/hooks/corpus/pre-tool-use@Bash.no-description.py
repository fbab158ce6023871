#!/usr/bin/env python3
"""Takes for granted what a model may leave out."""
import json
import sys

event = json.load(sys.stdin)
if len(event["tool_input"]["description"]) > 500:
    print("Say it in fewer words", file=sys.stderr)
    sys.exit(2)
