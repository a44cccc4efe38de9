# SPDX-License-Identifier: Apache-2.0
#
# free_port(): for a program that must be told where to listen.
import random
import socket
from pathlib import Path

locks = []


def candidates():
    """Ports that the system gives to nobody by itself, in random order."""
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    ports = [port for port in range(10_000, 65_536) if not low <= port <= high]
    random.shuffle(ports)
    return ports


def free_port():
    """No other caller on this machine is given it before this process ends."""
    for port in candidates():
        lock = socket.socket(socket.AF_UNIX)
        try:
            lock.bind(f"\0tandem-port-{port}")  # vanishes with the process
            with socket.socket() as probe:
                probe.bind(("", port))
        except OSError:
            lock.close()
            continue
        locks.append(lock)
        return port
    raise AssertionError("there is no free port outside of the system's own range")
