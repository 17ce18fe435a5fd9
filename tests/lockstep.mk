# make lockstep: the simulator against Unicorn, at least LOCKSTEP_COUNT checks for each architecture.
# make fuzz: the same comparison driven by libFuzzer for FUZZ_TIME seconds for each architecture.

LOCKSTEP_COUNT ?= 52000000
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
	$(BUILD)/xolsim lockstep --seed $(LOCKSTEP_SEED) --count $(LOCKSTEP_COUNT) -o $(BUILD)/lockstep.txt || \
	  { status=$$?; cat $(BUILD)/lockstep.txt; exit $$status; }
	@cat $(BUILD)/lockstep.txt
