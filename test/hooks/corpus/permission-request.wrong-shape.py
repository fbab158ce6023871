#!/usr/bin/env python3
"""Answers a permission request in the words of another event."""
import json
import sys

json.load(sys.stdin)
print(json.dumps({"hookSpecificOutput": {
    "hookEventName": "PermissionRequest",
    "permissionDecision": "deny",
    "permissionDecisionReason": "Ask me first",
}}))
