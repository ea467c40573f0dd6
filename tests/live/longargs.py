# SPDX-License-Identifier: MIT
"""longargs.py N: N processes with 120 KB of arguments each (a big graph of few processes); holds."""
import subprocess
import sys

from wittyfs import die_with_parent, hold

p = [subprocess.Popen([b"%03d" % i + b"x" * 120000, b"1000"], executable="/bin/sleep", preexec_fn=die_with_parent) for i in range(int(sys.argv[1]))]
hold({"processes": len(p)})
for x in p:
    x.kill()
