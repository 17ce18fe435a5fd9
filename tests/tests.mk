# make check: everything in tests/. make check-exhaustive: the classifier over all words. make golden: rewrite the golden files the tests compare with.

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

.PHONY: check golden

# Every path of the bulk classifier over all 2^32 words, six targets: about a minute and a half on two cores.
$(BUILD)/tests/paths/paths: tests/paths/paths.c $(BUILD)/libxolsim.a
	@mkdir -p $(@D)
	$(call Q,LD,$@)$(CC) $(FLAGS) $(CFLAGS) -o $@ $^ -pthread $(LDFLAGS)

check-exhaustive: $(BUILD)/tests/paths/paths
	$(BUILD)/tests/paths/paths

.PHONY: check-exhaustive
