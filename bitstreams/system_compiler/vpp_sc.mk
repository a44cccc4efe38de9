# SPDX-License-Identifier: Apache-2.0
# Rules of the system-compiler flow: ACC_SRCS (compute() and its functions) and HOST_SRCS become one program, which computes
# in software. `make run TARGET=sw_emu|hw_emu` runs it with HOST_ARGS. EXTRA_CFLAGS, EXTRA_LDFLAGS; EXTRA_VPPFLAGS: only -D, -I.
VPP_SC_DIR := $(dir $(lastword $(MAKEFILE_LIST)))
TARGET ?= sw_emu
HOST_EXE ?= host.exe
VPP_SC_BUILD := build_sc.$(TARGET)
VPP_SC_FLAGS := -std=c++17 -O1 -g -w -pthread -I$(VPP_SC_DIR)../include -I$(XILINX_VITIS)/include -I$(XILINX_XRT)/include \
  $(if $(XILINX_SC_PFM_CONFIG),-DXILINX_SC_PFM_CONFIG=$(XILINX_SC_PFM_CONFIG)) \
  $(filter -D% -I%,$(subst -I ,-I,$(subst -D ,-D,$(EXTRA_VPPFLAGS)))) $(EXTRA_CFLAGS)
# An object's path keeps the folders of its source: files in two folders may have one name.
vpp_sc_objects = $(patsubst %,$(VPP_SC_BUILD)/$(1)/%.o,$(subst ../,up/,$(2)))
VPP_SC_OBJECTS := $(call vpp_sc_objects,acc,$(ACC_SRCS)) $(call vpp_sc_objects,host,$(HOST_SRCS))
VPP_SC_DEPENDS = -MMD -MP -MF $(@:.o=.d) -MT $@

.PHONY: all host run clean cleanall check-target
# Makefiles of this flow read DEVICE before they include this file, callers name PLATFORM: make starts again with both.
ifeq ($(if $(PLATFORM),$(DEVICE),none),)
all host run clean cleanall:
	+$(MAKE) --no-print-directory -f $(firstword $(MAKEFILE_LIST)) DEVICE=$(PLATFORM) $@
else
all host: check-target $(HOST_EXE)

check-target:
ifeq ($(filter $(TARGET),sw_emu hw_emu),)
	$(error TARGET is '$(TARGET)': there are sw_emu and hw_emu; hardware needs the vendor's tools)
endif

run: all
	XCL_EMULATION_MODE=$(TARGET) ./$(HOST_EXE) $(HOST_ARGS)

$(HOST_EXE): $(VPP_SC_OBJECTS)
	g++ -o $@ $^ -pthread $(EXTRA_LDFLAGS)

define vpp_sc_acc
$(call vpp_sc_objects,acc,$(1)): $(1)
	@mkdir -p $$(@D)
	/usr/bin/python3 $(VPP_SC_DIR)vpp_processes.py $(1) > $$(@:.o=.cpp)
	g++ $$(VPP_SC_FLAGS) $$(VPP_SC_DEPENDS) -I$(dir $(1)) -include vpp_stream.hpp -c -o $$@ $$(@:.o=.cpp)
endef
define vpp_sc_host
$(call vpp_sc_objects,host,$(1)): $(1)
	@mkdir -p $$(@D)
	g++ $$(VPP_SC_FLAGS) $$(VPP_SC_DEPENDS) -c -o $$@ $(1)
endef
$(foreach source,$(ACC_SRCS),$(eval $(call vpp_sc_acc,$(source))))
$(foreach source,$(HOST_SRCS),$(eval $(call vpp_sc_host,$(source))))
-include $(wildcard $(VPP_SC_OBJECTS:.o=.d))

clean cleanall:
	rm -rf $(VPP_SC_BUILD) $(HOST_EXE)
endif
