# A thin front of CMake: installs what is missing, builds, and runs the two things a newcomer wants.
#   make demo    the demonstration, with the throughput report       make test      the whole test suite
#   make         the command (build/tegula)                          make test-long exhaustive and long campaigns
#   make area    what reconfiguration costs in gates, and what a chip consists of (docs/area.md; needs npm)
#   make timing  how deep the logic between registers is (docs/hardware.md; the same)
#   make mutation  faults in the RTL and in the rules of SystemC: do the tests notice? (tests/rtl/mutate.py; a part of them, in minutes:
#                  make mutation MUTATION="--sample 40 --seed 3")
#   make coverage  lines, branches and MC/DC of what reads and checks programs, and of the reader of ONNX, by their tests
#                  (docs/verification.md; clang-19 and llvm-19)
#   make coverage-rtl  lines and toggles of the RTL, by random programs and graphs on all engines (docs/verification.md)
BUILD ?= build
# Kernels that a test has compiled need not be compiled by the next.
export TEGULA_CODE_CACHE = $(abspath $(BUILD))/code
GENERATE = cmake -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo $(CMAKE_FLAGS)
GENERATE_SANITIZE = cmake -B $(BUILD)-sanitize -G Ninja -DCMAKE_BUILD_TYPE=None -DTEGULA_SANITIZE=ON -DTEGULA_RTL=OFF $(CMAKE_FLAGS)

.PHONY: all demo test test-long area timing mutation coverage coverage-rtl sanitize sanitize-build fuzz fuzz-build lint format install packages clean

# ctest,FOLDER,OPTIONS: runs tests, then says how many were skipped and why, and which took long.
ctest = mkdir -p $(TEGULA_CODE_CACHE); ctest --test-dir $(1) --output-on-failure --no-tests=error --output-junit tests.xml $(2); \
  status=$$?; tests/summary.py $(1)/tests.xml; exit $$status
# long-stage,NAME,FOLDER,OPTIONS: one of the parts of test-long, each of which runs whatever became of the others.
long-stage = (rm -f $(BUILD)/long/$(1).xml; ctest --test-dir $(2) --output-on-failure --no-tests=error \
  --test-output-size-passed 16384 --output-junit $(abspath $(BUILD))/long/$(1).xml $(3)) || touch $(BUILD)/long/failed

all: $(BUILD)/build.ninja
	cmake --build $(BUILD)

# Generated once; CMake notices later changes of its own files.
$(BUILD)/build.ninja: | packages
	$(GENERATE)

# Does nothing where every package is there.
packages:
	@cmake/install-packages.sh

# Builds only what it needs.
demo: $(BUILD)/build.ninja
	cmake --build $(BUILD) --target demo

test: all lint
	$(call ctest,$(BUILD),-j 2 -LE long)
	$(MAKE) sanitize
	$(MAKE) fuzz

# With the RTL of the preset edge, which this build directory then keeps; then all other tests with sanitizers, and the fuzzing.
# Its result, for docs/verification.md, is printed at the end and stays in build/long.md.
test-long: | packages
	$(GENERATE) -DTEGULA_RTL_EDGE=ON
	cmake --build $(BUILD)
	$(MAKE) sanitize-build
	$(MAKE) fuzz-build
	@rm -rf $(BUILD)/long; mkdir -p $(BUILD)/long $(TEGULA_CODE_CACHE)
	$(call long-stage,campaigns,$(BUILD),-j 2 -L long)
	TEGULA_EVERY_VARIANT=1; export TEGULA_EVERY_VARIANT; $(call long-stage,sanitizers,$(BUILD)-sanitize,-j 2 -LE long)
	$(call long-stage,fuzzing,$(BUILD)-fuzz,-j 2 -R "^fuzz_long")
	cmake --build $(BUILD) --target lint-deep || touch $(BUILD)/long/failed
	tests/campaigns.py $(BUILD)/long/*.xml | tee $(BUILD)/long.md
	@test ! -e $(BUILD)/long/failed

# Synthesises the PE and what it is compared with, and a tile.
area timing: $(BUILD)/build.ninja
	cmake --build $(BUILD) --target $@

mutation: $(BUILD)/build.ninja
	cmake --build $(BUILD) --target test_rtl_arithmetic test_rtl_mx test_rtl_vx test_systemc_timing test_systemc_parts test_fabric_times \
	  test_agreement test_rtl_faults test_accesses test_walk_reach test_walk_atoms test_program_check test_rows_by_index test_config \
	  test_instruction_text test_energy test_energy_counts test_ordering test_sections test_dram test_device proof_packages truth_tables
	tests/rtl/mutate.py $(BUILD) $(MUTATION)

coverage: | packages
	cmake -B $(BUILD)-coverage -G Ninja -DCMAKE_BUILD_TYPE=None -DTEGULA_COVERAGE=ON -DTEGULA_RTL=OFF -DCMAKE_C_COMPILER=clang-19 \
	  -DCMAKE_CXX_COMPILER=clang++-19 $(CMAKE_FLAGS)
	cmake --build $(BUILD)-coverage --target $$(tests/coverage.py --targets)
	tests/coverage.py $(BUILD)-coverage $(COVERAGE)

coverage-rtl: | packages
	cmake -B $(BUILD)-coverage-rtl -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTEGULA_RTL_COVERAGE=ON $(CMAKE_FLAGS)
	cmake --build $(BUILD)-coverage-rtl --target test_agreement test_random_graphs
	tests/rtl/coverage.py $(BUILD)-coverage-rtl $(COVERAGE)

# The C code once more, with address and undefined-behaviour checks; engines that need no Verilator build. Without what tests
# there run once: CTest calls an executable that is not built NAME_NOT_BUILT; and levels are graphs once more.
sanitize: | packages
	$(GENERATE_SANITIZE)
	cmake --build $(BUILD)-sanitize --target repeated_tests
	$(call ctest,$(BUILD)-sanitize,-j 2 -LE "long|once" -E "_NOT_BUILT|^levels[.]")

sanitize-build: | packages
	$(GENERATE_SANITIZE)
	cmake --build $(BUILD)-sanitize

# Coverage-guided fuzzing of all that reads files (tests/fuzz): the same inputs each time, some seconds a target.
fuzz: fuzz-build
	$(call ctest,$(BUILD)-fuzz,-j 2 -R "^fuzz" -LE long)

fuzz-build: | packages
	cmake -B $(BUILD)-fuzz -G Ninja -DCMAKE_BUILD_TYPE=None -DTEGULA_FUZZ=ON -DTEGULA_RTL=OFF -DCMAKE_C_COMPILER=clang-19 \
	  -DCMAKE_CXX_COMPILER=clang++-19 $(CMAKE_FLAGS)
	cmake --build $(BUILD)-fuzz --target fuzzers

lint: $(BUILD)/build.ninja
	cmake --build $(BUILD) --target lint

# Pages that are printed from tables are as their generators print them.
format:
	git ls-files '*.c' '*.h' '*.cc' | xargs clang-format -i
	git ls-files '*.md' ':!docs/operators.md' ':!docs/instruction-set.md' | xargs tests/docs/reflow.py

install: all
	cmake --install $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD)-sanitize $(BUILD)-fuzz $(BUILD)-coverage $(BUILD)-coverage-rtl
