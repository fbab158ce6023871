#!/usr/bin/env python3
"""There is no such permission decision: the host drops the whole answer."""
import json
import sys

json.load(sys.stdin)
print(json.dumps({"hookSpecificOutput": {
    "hookEventName": "PreToolUse",
    "permissionDecision": "block",
    "permissionDecisionReason": "Not here",
}}))
