# make check: everything in tests/. make golden: rewrite the golden files the tests compare with.
# make check-kernel: real kernels of KERNELS, fetched into KERNEL_DIR (3 GB), every word. Takes hours.

KERNELS    ?= 6.12/riscv64 7.2/riscv64 6.12/arm64 6.1/arm64 5.10/arm64 7.2/arm64
KERNEL_DIR ?= $(BUILD)/kernels

CHECK_CFLAGS = $(shell $(PKG) --cflags check)
CHECK_LIBS   = $(shell $(PKG) --libs check)
TEST_WRAP    := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
TEST_LIBS    := $(filter-out $(MAIN_OBJ),$(CLI_OBJS)) $(BUILD)/libxolsim.a

$(TEST_OBJS): FLAGS += $(CHECK_CFLAGS) -Itests -DXOLSIM_PROGRAM='"$(BUILD)/xolsim"'

$(BUILD)/tests/tests: $(TEST_OBJS) $(TEST_LIBS)
	$(CC) $(SAN) $(CFLAGS) $(TEST_WRAP) -o $@ $^ $(CHECK_LIBS) $(CAPSTONE_LIBS) $(DEPS_LIBS) $(LDFLAGS) -pthread

check: all $(BUILD)/tests/tests
	$(BUILD)/tests/tests
	tests/schema $(BUILD)/xolsim
	SAN="$(SAN)" tests/readme $(BUILD)

golden: all $(BUILD)/tests/tests
	XOLSIM_GOLDEN=1 $(BUILD)/tests/tests
	tests/readme $(BUILD) --golden
	git --no-pager diff --stat -- fixtures README.md

# Every path of the bulk classifier over all 2^32 words, six targets: about a minute and a half on two cores.
$(BUILD)/tests/paths/paths: tests/paths/paths.c $(BUILD)/libxolsim.a
	@mkdir -p $(@D)
	$(call Q,LD,$@)$(CC) $(FLAGS) $(CFLAGS) -o $@ $^ -pthread $(LDFLAGS)

check-exhaustive: $(BUILD)/tests/paths/paths
	$(BUILD)/tests/paths/paths


check-kernel: all
	tests/check-kernel $(BUILD)/xolsim $(KERNEL_DIR) $(KERNELS)

.PHONY: check check-exhaustive check-kernel golden
