"""A coding agent in a few lines, run by its path in a lab: asks for commands by chat completions, and runs them.

tiny_agent.py [--crash N] [--sleep SECONDS]
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

TOOL = {"name": "sh", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}


def main() -> None:
    """Converse until an answer has no command; with `--crash N` fail instead of running the N-th command."""
    options = dict(zip(sys.argv[1::2], map(float, sys.argv[2::2]), strict=True))
    time.sleep(options.get("--sleep", 0))
    messages = [{"role": "user", "content": Path("/lab/TASK.md").read_text()}]
    while True:
        tools = [{"type": "function", "function": TOOL}]
        message = answer({"model": os.environ["CODER_MODEL"], "messages": messages, "tools": tools})
        messages.append(message)
        if not message.get("tool_calls"):
            return
        call = message["tool_calls"][0]
        if sum("tool_calls" in one for one in messages) == options.get("--crash"):
            sys.exit("the tiny agent crashed, as it was told to")
        command = json.loads(call["function"]["arguments"])["command"]
        ran = subprocess.run(["sh", "-c", command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(f"$ {command}\n{ran.stdout}", flush=True)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": f"{ran.stdout}\nexit {ran.returncode}"})


def answer(body: dict) -> dict:
    """Return the message that the model answers with."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310
    with urllib.request.urlopen(request) as reply:  # noqa: S310
        return json.load(reply)["choices"][0]["message"]


if __name__ == "__main__":
    main()
