# SPDX-License-Identifier: MIT
"""readme.py README MOUNT PID PORT CONTAINER: runs the commands of the README that are marked live.

A fence ```sh live holds commands, each ended by an empty line or by a line that is not continued by a
backslash; comment lines are left out. Each must end with status 0 and print something; in a fence
```sh live quiet nothing needs to be printed. In a command /run/wittyfs stands for the mountpoint, 1234
for the pid of a server with connections, 8000 for its port, 4f5e6d7c for the start of a container's id.
"""
import re
import subprocess
import sys

readme, mount, pid, port, container = sys.argv[1:6]
failed = ran = 0
for flags, block in re.findall(r"^```sh live([^\n]*)\n(.*?)^```", open(readme, encoding="utf-8").read(), re.M | re.S):
    text = re.sub(r"^\s*#.*\n", "", block, flags=re.M)
    for command in re.findall(r"(?:[^\n]*\\\n)*[^\n]+", text):
        shown = command.strip()
        if not shown:
            continue
        for old, new in (("/run/wittyfs", mount), ("1234", pid), ("8000", port), ("4f5e6d7c", container)):
            command = re.sub(r"(?<![0-9A-Za-z])" + re.escape(old) + r"(?![0-9A-Za-z])", lambda _: new, command)
        ran += 1
        r = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, cwd=mount, timeout=60, stdin=subprocess.DEVNULL)
        # 141: a filter after the command had enough (head)
        if r.returncode not in (0, 141) or (not r.stdout.strip() and "quiet" not in flags):
            failed += 1
            print(f"{shown}\n  status {r.returncode}, {len(r.stdout)} bytes; {r.stderr.decode(errors='replace').strip()}")
print(f"{ran} commands, {failed} failed")
sys.exit(failed > 0 or ran < 10)
