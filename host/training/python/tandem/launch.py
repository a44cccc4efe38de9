# SPDX-License-Identifier: Apache-2.0
"""Which rank this process is, from what its launcher put into the environment.

The first that speaks wins: flags, torchrun, Open MPI or another PMI, Slurm, LeaderWorkerSet. ``resolve`` says which one
did; ``export`` writes the variables that PyTorch's ``env://`` reads, where they are missing. No PyTorch needed.
"""

import dataclasses
import re
import zlib
from typing import Callable, Mapping, MutableMapping, Optional

from tandem.errors import TandemError

DEFAULT_PORT = 29500


@dataclasses.dataclass(frozen=True)
class Launch:
    """A process among others. `source` names the launcher and its variables."""

    source: str
    rank: int
    world: int
    local_rank: int
    local_world: int
    address: str
    port: int

    def describe(self) -> str:
        """One line for the log."""
        return (f"rank {self.rank} of {self.world} by {self.source}; ranks meet at {self.address}:{self.port}")


def resolve(environment: Mapping[str, str], flags: Optional[Mapping[str, object]] = None) -> Optional[Launch]:
    """The launch that `flags` (rank, world, address, port, local_rank, local_world) and the environment tell; None if no
    launcher has started this process."""
    flags = {key: value for key, value in (flags or {}).items() if value is not None}
    for find in (_from_flags(flags), _torchrun, _open_mpi, _pmi, _slurm, _leader_worker_set):
        found = find(environment)
        if found is not None:
            return _checked(_overridden(found, flags))
    return None


def export(launch: Launch, environment: MutableMapping[str, str]) -> "list[str]":
    """Sets what is missing; the names that it has set."""
    values = {"RANK": launch.rank, "WORLD_SIZE": launch.world, "LOCAL_RANK": launch.local_rank,
              "LOCAL_WORLD_SIZE": launch.local_world, "MASTER_ADDR": launch.address, "MASTER_PORT": launch.port}
    forced = launch.source == "flags"  # a flag wins over a variable that is there
    names = [name for name in values if forced or name not in environment]
    environment.update({name: str(values[name]) for name in names})
    return names


def _from_flags(flags: Mapping[str, object]) -> "Callable[[Mapping[str, str]], Optional[Launch]]":
    def find(environment: Mapping[str, str]) -> Optional[Launch]:
        if "rank" not in flags and "world" not in flags:
            return None
        if "rank" not in flags or "world" not in flags:
            raise TandemError("--rank and --world-size belong together: give both or neither")
        rank, world = int(str(flags["rank"])), int(str(flags["world"]))
        address = environment.get("MASTER_ADDR") or (None if "address" in flags else "127.0.0.1")
        return _launch("flags", (rank, world), (rank, world), address, environment)
    return find


def _torchrun(environment: Mapping[str, str]) -> Optional[Launch]:
    ranks = _pair(environment, "RANK", "WORLD_SIZE")
    if ranks is None:
        return None
    local = _pair(environment, "LOCAL_RANK", "LOCAL_WORLD_SIZE") or ranks
    return _launch("torchrun (RANK, WORLD_SIZE)", ranks, local, _meeting_host(ranks, local, environment), environment)


def _open_mpi(environment: Mapping[str, str]) -> Optional[Launch]:
    ranks = _pair(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
    if ranks is None:
        return None
    local = _pair(environment, "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE") or ranks
    job = environment.get("PMIX_NAMESPACE") or environment.get("OMPI_MCA_orte_hnp_uri", "").split(";")[0]
    return _launch("mpirun (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE)", ranks, local,
                   _meeting_host(ranks, local, environment), environment, job)


def _pmi(environment: Mapping[str, str]) -> Optional[Launch]:
    ranks = _pair(environment, "PMI_RANK", "PMI_SIZE")
    if ranks is None:
        return None
    local = (_pair(environment, "MPI_LOCALRANKID", "MPI_LOCALNRANKS")
             or _pair(environment, "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE") or ranks)
    # Slurm's srun speaks PMI too, and knows its hosts.
    address = _meeting_host(ranks, local, environment) or first_slurm_host(environment.get("SLURM_JOB_NODELIST", ""))
    job = environment.get("PMI_JOBID") or environment.get("SLURM_JOB_ID", "")
    return _launch("mpirun (PMI_RANK, PMI_SIZE)", ranks, local, address, environment, job)


def _slurm(environment: Mapping[str, str]) -> Optional[Launch]:
    ranks = _pair(environment, "SLURM_PROCID", "SLURM_NTASKS")
    if ranks is None:
        return None
    per_node = re.match(r"\d+", environment.get("SLURM_TASKS_PER_NODE", ""))
    local_world = int(environment.get("SLURM_NTASKS_PER_NODE") or (per_node[0] if per_node else ranks[1]))
    local = (int(environment.get("SLURM_LOCALID") or 0), local_world)
    hosts = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST", "")
    job = environment.get("SLURM_JOB_ID", "") + "." + environment.get("SLURM_STEP_ID", "")
    return _launch("Slurm (SLURM_PROCID, SLURM_NTASKS)", ranks, local,
                   environment.get("MASTER_ADDR") or first_slurm_host(hosts), environment, job)


def _leader_worker_set(environment: Mapping[str, str]) -> Optional[Launch]:
    ranks = _pair(environment, "LWS_WORKER_INDEX", "LWS_GROUP_SIZE")
    if ranks is None:
        return None
    address = environment.get("MASTER_ADDR") or environment.get("LWS_LEADER_ADDRESS")
    return _launch("LeaderWorkerSet (LWS_WORKER_INDEX, LWS_GROUP_SIZE)", ranks, (0, 1), address, environment)


def first_slurm_host(nodes: str) -> Optional[str]:
    """The first host of a list as Slurm writes it: "a1,a2" or "gpu[003-010,12],login"."""
    matched = re.match(r"([^,\[\]]+)(?:\[([^\]]*)\])?([^,\[\]]*)", nodes)
    if matched is None:
        return None
    number = re.match(r"\d+", matched[2] or "")
    return matched[1] + (number[0] if number else "") + matched[3]


def _pair(environment: Mapping[str, str], first: str, second: str) -> "Optional[tuple[int, int]]":
    texts = [environment.get(first), environment.get(second)]
    if not texts[0] or not texts[1]:
        return None
    try:
        return int(texts[0]), int(texts[1])
    except ValueError:
        raise TandemError(f"{first}={texts[0]} and {second}={texts[1]} of the environment must be whole numbers; "
                          "unset them if no launcher has set them") from None


def _meeting_host(ranks: "tuple[int, int]", local: "tuple[int, int]", environment: Mapping[str, str]) -> Optional[str]:
    return environment.get("MASTER_ADDR") or ("127.0.0.1" if local[1] == ranks[1] else None)


def _launch(source: str, ranks: "tuple[int, int]", local: "tuple[int, int]", address: Optional[str],
            environment: Mapping[str, str], job: str = "") -> Launch:
    text = environment.get("MASTER_PORT")
    if text and not text.isdigit():
        raise TandemError(f"MASTER_PORT={text} of the environment must be a number between 1 and 65535")
    # Jobs on one host at the same time must not meet each other.
    port = int(text) if text else (20000 + zlib.crc32(job.encode()) % 10000 if job.strip(".") else DEFAULT_PORT)
    return Launch(source, ranks[0], ranks[1], local[0], local[1], address or "", port)


def _overridden(launch: Launch, flags: Mapping[str, object]) -> Launch:
    changes = {key: type(getattr(launch, key))(value) for key, value in flags.items()}  # type: ignore[call-arg]
    return dataclasses.replace(launch, **changes)


def _checked(launch: Launch) -> Launch:
    if not 0 <= launch.rank < launch.world:
        raise TandemError(f"rank {launch.rank} of {launch.world} ranks by {launch.source} is impossible: ranks count "
                          "from 0")
    if not launch.address:
        raise TandemError(f"the ranks by {launch.source} are on several hosts and nothing names the first one: set "
                          "MASTER_ADDR to the address of rank 0's host (mpirun -x MASTER_ADDR=...)")
    return launch
