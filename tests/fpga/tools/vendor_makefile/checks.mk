# SPDX-License-Identifier: Apache-2.0
# The checks that come before a build. They are written for bash, and must not stop a make whose /bin/sh is another shell.
check-vitis:
ifndef XILINX_VITIS
	$(error XILINX_VITIS variable is not set, source settings64.sh and rerun)
endif

check-xrt:
ifndef XILINX_XRT
	$(error XILINX_XRT variable is not set, source setup.sh and rerun)
endif

check-device:
	@set -eu; \
	inblocklist=False; \
	for dev in $(PLATFORM_BLOCKLIST); \
	    do if [[ $$(echo $(PLATFORM) | grep $$dev) != "" ]]; \
	    then inblocklist=True; fi; \
	done; \
	if [[ $$inblocklist == True ]]; \
	    then echo "[ERROR]: not supported for $(PLATFORM)."; exit 1; \
	fi;

check-platform:
ifndef PLATFORM
	$(error PLATFORM not set)
endif
