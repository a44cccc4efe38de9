# SPDX-License-Identifier: Apache-2.0
#
# A folder of this process for the sessions of Open MPI. By default all of a user's have one folder of /tmp: an mpirun that ends
# removes it while another one makes its own folder in it, and that one then fails.
import atexit
import os
import shutil
import tempfile

VARIABLE = "OMPI_MCA_orte_tmpdir_base"

if VARIABLE not in os.environ:
    os.environ[VARIABLE] = tempfile.mkdtemp(prefix="tandem-mpi-")
    atexit.register(shutil.rmtree, os.environ[VARIABLE], ignore_errors=True)
