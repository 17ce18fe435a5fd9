# make check-witness: is there a word that LLVM's instruction descriptions call a branch, or relative to the pc, and that
# the audit of the newest kernels misses? A minute; tests/witness/run says which LLVM is asked.

LLVM_CONFIG   ?= llvm-config
LLVM_CXXFLAGS  = -std=c++17 -fno-rtti -isystem $(shell $(LLVM_CONFIG) --includedir)
LLVM_LIBS      = $(shell $(LLVM_CONFIG) --ldflags --libs)

# The program is named after its LLVM, so that there may be several.
$(BUILD)/tests/witness/witness-%: tests/witness/llvm.cpp tests/witness/llvm.h $(BUILD)/tests/witness/witness.o $(TEST_LIBS) \
                                  $(BUILD)/oracle/divergences.o
	@mkdir -p $(@D)
	$(call Q,CXX,$@)$(CXX) $(WARN) $(SAN) $(LLVM_CXXFLAGS) $(CFLAGS) -o $@ $(filter-out %.h,$^) $(LLVM_LIBS) $(CAPSTONE_LIBS) \
	  $(DEPS_LIBS) $(LDFLAGS) -pthread

check-witness: all
	tests/witness/run $(BUILD)

.PHONY: check-witness
