"""Refuses to write .env files, by the name the path ends in."""
import json
import os
import sys

event = json.load(sys.stdin)
path = event.get("tool_input", {}).get("file_path", "")
if os.path.basename(os.path.normpath(path)).lower().startswith(".env"):
    print(json.dumps({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "Environment files hold secrets: ask the person to change them",
    }}))
