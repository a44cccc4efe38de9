# SPDX-License-Identifier: Apache-2.0
"""How the ranks of a process group make a communicator of their own: through the store that they met in before."""

import base64
import os
import socket
from typing import Any, Optional

import torch.distributed as dist
from torch.distributed import distributed_c10d

from tandem._library import Group
from tandem.errors import TandemError
from tandem.torch.options import Options

_made: "dict[tuple[int, ...], int]" = {}  # communicators per set of ranks; the same count on each of them


class GroupStore:
    """The process group's store as a tandem Store. Stores of PyTorch wait for keys that are not there and hold text; so
    counters say which keys are there, and values are base64."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def put(self, key: str, value: bytes) -> bool:
        if self._store.add(key + ".claimed", 1) != 1:
            return False
        self._store.set(key, base64.b64encode(value).decode())
        self._store.add(key + ".written", 1)
        return True

    def get(self, key: str) -> Optional[bytes]:
        if self._store.add(key + ".written", 0) == 0:
            return None
        return base64.b64decode(self._store.get(key))


def make_group(process_group: Any, options: Options) -> Group:
    """A communicator of the ranks of `process_group` (None: all). Every rank of it calls this."""
    if not dist.is_initialized():
        raise TandemError("the default process group does not exist yet: call torch.distributed.init_process_group() "
                          "before you attach the hook")
    ranks = ranks_of(process_group)
    number = _made[ranks] = _made.get(ranks, -1) + 1
    prefix = "tandem-" + "-".join(map(str, ranks[:8])) + f"-of-{len(ranks)}-{sum(ranks)}-{number}"
    chosen = {"transport": options.transport, "rank": ranks.index(dist.get_rank()), "world": len(ranks),
              "prefix": prefix, "timeout_s": options.timeout_s}
    chosen.update(listening_place(options) if options.transport == "gloo" else {})
    if options.store_directory is not None:
        return Group(dict(chosen, store_directory=options.store_directory))
    store = default_store()
    if store is None:
        raise TandemError(f"the process group's backend {dist.get_backend(process_group)} has no store: give the option "
                          "store_directory, a folder that every rank sees")
    return Group(chosen, GroupStore(dist.PrefixStore(prefix, store)))


def ranks_of(process_group: Any) -> "tuple[int, ...]":
    """The global ranks of a process group, in the group's order."""
    if process_group is None or process_group is getattr(dist.group, "WORLD", None):
        return tuple(range(dist.get_world_size()))
    if hasattr(dist, "get_process_group_ranks"):
        return tuple(dist.get_process_group_ranks(process_group))
    members = distributed_c10d._pg_group_ranks[process_group]  # PyTorch 1.13
    return tuple(sorted(members, key=members.get))


def default_store() -> Any:
    """The store of the default process group; None if it has none."""
    return distributed_c10d._get_default_store()


def listening_place(options: Options) -> "dict[str, str]":
    """Where this rank listens: as told, as gloo is told, or the address that leads to MASTER_ADDR."""
    if options.interface:
        return {"interface": options.interface}
    if options.address:
        return {"address": options.address}
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0]
    if interface:
        return {"interface": interface}
    address = os.environ.get("MASTER_ADDR", "")
    found = _address_towards(address) if address else None
    several_hosts = os.environ.get("LOCAL_WORLD_SIZE") not in (None, os.environ.get("WORLD_SIZE"))
    if found and found.startswith("127.") and several_hosts:
        found = _address_towards("192.0.2.1")  # rank 0's own name is loopback there; others need its real address
    return {"address": found} if found else {}


def _address_towards(host: str) -> Optional[str]:
    """The address that packets to `host` leave from. Sends nothing."""
    try:
        found = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)
        family, kind, protocol, _, place = sorted(found, key=lambda entry: entry[0] != socket.AF_INET)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(place)
            return probe.getsockname()[0]
    except OSError:
        return None
