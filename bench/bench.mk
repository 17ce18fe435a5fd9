# make bench: everything in one run, build/bench.json.   make bench-history: a line of it in bench/history.tsv

# The newest LLVM whose headers are there, and VIXL: each optional, C++, and behind a C function of its own. Looked
# for only when they are wanted; LLVM_CONFIG= or VIXL_VERSION= on the command line leaves one out.
ifneq ($(and $(findstring bench,$(MAKECMDGOALS)),$(shell command -v $(CXX))),)
LLVM_CONFIG  := $(shell for c in llvm-config $$(seq -f llvm-config-%g 14 40); do \
  f=$$($$c --includedir 2> /dev/null)/llvm/MC/TargetRegistry.h; [ -f "$$f" ] && echo "$$($$c --version) $$c"; \
  done | sort -V | tail -1 | cut -d' ' -f2)
VIXL_VERSION := $(shell $(PKG) --modversion vixl 2> /dev/null)
endif
COMMIT      = $(shell git describe --always --dirty 2> /dev/null || echo -)

BENCH_OBJS := $(call objects,$(filter-out bench/simulate.c,$(wildcard bench/*.c)))
BENCH_MORE  = $(if $(LLVM_CONFIG),$(BUILD)/bench/llvm.o) $(if $(VIXL_VERSION),$(BUILD)/bench/vixl.o)
BENCH_LIBS  = $(if $(LLVM_CONFIG),$(shell $(LLVM_CONFIG) --ldflags --libs --link-shared)) \
              $(if $(VIXL_VERSION),$(shell $(PKG) --libs vixl)) $(if $(BENCH_MORE),-lstdc++)
CXXFLAGS   ?= -O2 -g
CXX_FLAGS   = -std=c++17 -Wall -Wextra -Werror $(SAN) -MMD -MP

$(BENCH_OBJS): FLAGS += $(if $(LLVM_CONFIG),-DBENCH_LLVM) $(if $(VIXL_VERSION),-DBENCH_VIXL='"$(VIXL_VERSION)"')
$(BUILD)/bench/memory.o: override CFLAGS += -O3

# Others' headers as system ones: their warnings are not ours.
$(BUILD)/bench/llvm.o: bench/llvm.cc
	@mkdir -p $(@D)
	$(call Q,CXX,$@)$(CXX) $(CXX_FLAGS) $(CXXFLAGS) -fno-rtti -isystem $$($(LLVM_CONFIG) --includedir) -c -o $@ $<

$(BUILD)/bench/vixl.o: bench/vixl.cc
	@mkdir -p $(@D)
	$(call Q,CXX,$@)$(CXX) $(CXX_FLAGS) $(CXXFLAGS) $(patsubst -I%,-isystem %,$(shell $(PKG) --cflags vixl)) -c -o $@ $<

$(BUILD)/bench/bench: $(BENCH_OBJS) $(BENCH_MORE) $(BUILD)/libxolsim.a
	$(call Q,LD,$@)$(CC) $(SAN) $(CFLAGS) -o $@ $^ $(BENCH_LIBS) $(CAPSTONE_LIBS) $(DEPS_LIBS) $(LDFLAGS)

# Handlers on prepared sites, million instructions a second.
$(BUILD)/bench/simulate: $(BUILD)/bench/simulate.o $(BUILD)/libxolsim.a
	$(call Q,LD,$@)$(CC) $(SAN) $(CFLAGS) -o $@ $^

bench: all $(BUILD)/bench/bench $(BUILD)/bench/simulate
	$(BUILD)/bench/bench --xolsim $(BUILD)/xolsim --build $(BUILD) --commit $(COMMIT) --json $(BUILD)/bench.json

bench-history: $(BUILD)/bench/bench
	$(BUILD)/bench/bench --append $(BUILD)/bench.json bench/history.tsv

.PHONY: bench bench-history
-include $(BENCH_OBJS:.o=.d) $(BUILD)/bench/simulate.d $(BUILD)/bench/llvm.d $(BUILD)/bench/vixl.d
