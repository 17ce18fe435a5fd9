# make lockstep: the simulator against Unicorn, about LOCKSTEP_COUNT checks for each architecture, and ideal's slot words
# at two places, about SLOT_COUNT checks.
# make fuzz: the same comparison driven by libFuzzer for FUZZ_TIME seconds for each architecture.

LOCKSTEP_COUNT ?= 54000000
SLOT_COUNT     ?= 2000000
LOCKSTEP_SEED  ?= 1
FUZZ_TIME      ?= 60

# fixtures/<isa>/divergences.txt as C arrays.
DIVERGENCES := fixtures/arm64/divergences.txt fixtures/riscv/divergences.txt
$(BUILD)/oracle/divergences.c: $(DIVERGENCES)
	@mkdir -p $(@D)
	$(call Q,GEN,$@)for isa in arm64 riscv; do \
	  printf 'extern const char xs_%s_divergences[];\nconst char xs_%s_divergences[] = {' $$isa $$isa; \
	  od -An -v -tu1 fixtures/$$isa/divergences.txt | sed 's/  *\([0-9]\)/,\1/g; s/^,//; s/$$/,/'; printf '0};\n'; done > $@

$(BUILD)/oracle/divergences.o: $(BUILD)/oracle/divergences.c
	$(call Q,CC,$@)$(CC) $(FLAGS) $(CFLAGS) -c -o $@ $<

$(BUILD)/xolsim $(BUILD)/tests/tests: $(BUILD)/oracle/divergences.o

lockstep: all
	$(BUILD)/xolsim lockstep --seed $(LOCKSTEP_SEED) --count $(LOCKSTEP_COUNT)
	$(BUILD)/xolsim lockstep --seed $(LOCKSTEP_SEED) --slots --count $(SLOT_COUNT)

# The harness is one file; everything else it needs is built again with the fuzzer's instrumentation.
FUZZ_CC   ?= clang
FUZZ_SAN  ?= -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
FUZZ_SRCS := tests/fuzz/lockstep.c $(wildcard oracle/unicorn*.c oracle/lockstep*.c) oracle/generate.c \
             $(wildcard decoder/*.c simulator/*.c arch/*.c arch/*/*.c) \
             $(BUILD)/arch/arm64.decode.c $(BUILD)/arch/riscv.decode.c $(BUILD)/oracle/divergences.c

$(BUILD)/fuzz/lockstep: $(FUZZ_SRCS) $(wildcard oracle/*.h)
	@mkdir -p $(@D)
	$(FUZZ_CC) -std=c11 $(WARN) -D_GNU_SOURCE -Idecoder -Isimulator -Iarch -Ioracle -O1 -g $(FUZZ_SAN) -o $@ $(FUZZ_SRCS) \
	  $(shell $(PKG) --cflags --libs unicorn)

# The same harness with a main, for AFL++ (FUZZ_CC=afl-clang-fast) and for findings.
$(BUILD)/fuzz/lockstep-file: $(FUZZ_SRCS) $(wildcard oracle/*.h)
	@mkdir -p $(@D)
	$(FUZZ_CC) -std=c11 $(WARN) -D_GNU_SOURCE -DXOLSIM_FUZZ_MAIN -Idecoder -Isimulator -Iarch -Ioracle -O1 -g -o $@ \
	  $(FUZZ_SRCS) $(shell $(PKG) --cflags --libs unicorn)

fuzz: $(BUILD)/fuzz/lockstep $(BUILD)/fuzz/lockstep-file
	for arch in arm64 riscv64 riscv32; do mkdir -p $(BUILD)/fuzz/$$arch && XOLSIM_FUZZ_ARCH=$$arch \
	  $(BUILD)/fuzz/lockstep -max_total_time=$(FUZZ_TIME) -max_len=600 -len_control=0 -detect_leaks=0 -print_final_stats=1 \
	  -artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/$$arch || exit 1; done

.PHONY: lockstep fuzz
