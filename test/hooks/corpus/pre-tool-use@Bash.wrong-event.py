#!/usr/bin/env python3
"""Names the wrong event: the host drops the whole answer."""
import json
import sys

event = json.load(sys.stdin)
if "push" in event["tool_input"]["command"]:
    print(json.dumps({"hookSpecificOutput": {
        "hookEventName": "PostToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "Not here",
    }}))
