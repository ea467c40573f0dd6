# SPDX-License-Identifier: MIT
"""vanish.py MOUNT PID PORT SECONDS: what lives through all generations is never missing.

While generations pass and other processes come and go, the node of PID (a server that listens on PORT) is
looked up by path, by glob and by listing, without a pause.
"""
import collections
import glob
import os
import subprocess
import sys
import time

from wittyfs import Mount, fail

m, pid, port = Mount(sys.argv[1]), sys.argv[2], sys.argv[3]
end, first, rounds, missing = time.monotonic() + float(sys.argv[4]), m.generation(), 0, collections.Counter()
churn = subprocess.Popen(["sh", "-c", "while :; do /bin/true; /bin/true; sleep 0.02; done"])
base = f"{m.path}/nodes/process/{pid}"
try:
    while time.monotonic() < end:
        rounds += 1
        missing["nodes/process lists it"] += pid not in os.listdir(f"{m.path}/nodes/process")
        missing["by/pid lists it"] += pid not in os.listdir(f"{m.path}/by/pid")
        missing["by/port lists it"] += port not in os.listdir(f"{m.path}/by/port")
        missing["its name"] += not os.path.exists(f"{base}/name")
        missing["its links by glob"] += not glob.glob(f"{m.path}/by/pid/{pid}/out/own/socket:*")
        missing["peers by glob"] += not glob.glob(f"{base}/out/send_to_socket/*/in/own/*/name")
finally:
    churn.kill()
    churn.wait()
passed = m.generation() - first
if any(missing.values()) or passed < 20 or rounds < 50:
    fail(f"{rounds} rounds, {passed} generations, missing: {dict(missing)}")
