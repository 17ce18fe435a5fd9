# make            build/xolsim and build/libxolsim.a        make check     the test suite
# make golden     rewrite golden files (review the diff)    make install   PREFIX= DESTDIR=
# make bench      ratios to other programs
# BUILD=dir       another build folder    SANITIZE=1        ASan and UBSan

BUILD    ?= $(if $(SANITIZE),build/asan,build)
PREFIX   ?= /usr/local
CFLAGS   ?= -O2 -g
VERSION  := 0.1.0
PKG      ?= pkg-config

CAPSTONE_CFLAGS ?= $(shell $(PKG) --cflags capstone)
CAPSTONE_LIBS   ?= $(shell $(PKG) --libs capstone)
DEPS     := libelf libdw liblzma json-c unicorn
DEPS_CFLAGS := $(shell $(PKG) --cflags $(DEPS))
DEPS_LIBS   := $(shell $(PKG) --libs $(DEPS))

WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
ifdef SANITIZE
SAN      := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
FLAGS     = -std=c11 $(WARN) -D_GNU_SOURCE -DXOLSIM_VERSION='"$(VERSION)"' $(SAN) -Idecoder -Isimulator -Iarch -Iimage -Ioracle \
            $(CAPSTONE_CFLAGS) $(DEPS_CFLAGS) -MMD -MP

objects   = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIB_OBJS  := $(call objects,$(wildcard decoder/*.c simulator/*.c arch/*.c arch/*/*.c)) \
             $(BUILD)/arch/arm64.decode.o $(BUILD)/arch/riscv.decode.o
CLI_OBJS  := $(call objects,$(wildcard image/*.c oracle/*.c cli/*.c))
TEST_OBJS := $(call objects,$(wildcard tests/*.c))
MAIN_OBJ  := $(BUILD)/cli/main.o

Q = $(if $(V),,@printf '  %-4s %s\n' $(1) $(2);)

all: $(BUILD)/xolsim $(BUILD)/libxolsim.a

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call Q,CC,$@)$(CC) $(FLAGS) $(CFLAGS) -c -o $@ $<

# A .decode file as a C array: no tool but od and sed is needed.
$(BUILD)/arch/%.decode.c: arch/%/*.decode
	@mkdir -p $(@D)
	$(call Q,GEN,$@){ printf '#include <stddef.h>\nextern const char xs_$*_decode[]; extern const size_t xs_$*_decode_len;\n'; \
	  printf 'const char xs_$*_decode[] = {'; od -An -v -tu1 $< | sed 's/  *\([0-9]\)/,\1/g; s/^,//; s/$$/,/'; \
	  printf '0};\nconst size_t xs_$*_decode_len = sizeof xs_$*_decode - 1;\n'; } > $@

$(BUILD)/arch/%.decode.o: $(BUILD)/arch/%.decode.c
	$(call Q,CC,$@)$(CC) $(FLAGS) $(CFLAGS) -c -o $@ $<

$(BUILD)/libxolsim.a: $(LIB_OBJS)
	$(call Q,AR,$@)$(AR) rcs $@ $^

$(BUILD)/xolsim: $(CLI_OBJS) $(BUILD)/libxolsim.a
	$(call Q,LD,$@)$(CC) $(SAN) $(CFLAGS) -o $@ $^ -pthread $(CAPSTONE_LIBS) $(DEPS_LIBS) $(LDFLAGS)

# The library's users: pkg-config --cflags --libs xolsim.
$(BUILD)/xolsim.pc: Makefile
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include/xolsim' 'libdir=$${prefix}/lib' '' 'Name: xolsim' \
	  'Description: how probes on AArch64 and RISC-V instructions are carried out' 'Version: $(VERSION)' \
	  'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -lxolsim' > $@

install: all $(BUILD)/xolsim.pc
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/xolsim \
	  $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/xolsim
	install $(BUILD)/xolsim $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(BUILD)/libxolsim.a $(DESTDIR)$(PREFIX)/lib
	install -m 644 $(BUILD)/xolsim.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 644 decoder/xolsim.h simulator/simulator.h arch/arch.h $(DESTDIR)$(PREFIX)/include/xolsim
	install -m 644 docs/xolsim.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 docs/xolsim.schema.json arch/arm64/arm64.decode arch/riscv/riscv.decode \
	  $(DESTDIR)$(PREFIX)/share/xolsim

include bench/bench.mk

# Is every seeded mistake noticed? Takes some ten minutes.
mutants:
	tests/mutants

clean:
	rm -rf $(BUILD)

include tests/tests.mk
-include tests/lockstep.mk
include tests/witness/witness.mk

.PHONY: all clean install mutants
.SECONDARY:
-include $(LIB_OBJS:.o=.d) $(CLI_OBJS:.o=.d) $(TEST_OBJS:.o=.d)
