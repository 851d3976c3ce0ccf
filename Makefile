# The commands of everyday work; CMakePresets.json holds what they configure. `make help` lists them.

SCENARIO ?= scenarios/gpt3-175b-superpod-a100.json
JOBS     ?= $(shell nproc)
TESTS    ?= $(shell expr $(JOBS) + 2)
SECONDS  ?= 60
CASES    ?= 1000000
FROM     ?= 0
COUNT    ?= 1000
PART     ?= 16
PREFIX   ?= /usr/local
THREADED := kernels_test tcp_test cpu_device_test run_test sim_engine_test reentrant_test planning_test
FOLDERS  := base hardware kernels models topology strategies reliability synchrony scenarios calibrate run sim \
            planning validate report doors python cli tests
CODE     := base|hardware|kernels|models|topology|strategies|reliability|synchrony|scenarios|calibrate|run|sim|planning
CODE     := $(CODE)|validate|report|doors|python|cli
SOURCES   = $(shell find $(FOLDERS) -name '*.hpp' -o -name '*.cpp')

.DEFAULT_GOAL := help
.PHONY: run build test install package asan tsan fuzz soak faults bench format format-check tidy clean help setup \
        setup-test developer sanitizers

run: setup ## build orrery, which predicts, and predict the scenario in SCENARIO
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target orrery
	build/release/orrery simulate $(SCENARIO)

build: setup ## build the release: orrery, orrery-device, which it starts, orrery-worker and Python's module
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target orrery orrery-device orrery-worker orrery-python

test: setup-test ## build everything with warnings as errors and run every test
	cmake --preset test
	cmake --build --preset test --parallel $(JOBS)
	ctest --preset test --parallel $(TESTS)

install: build ## install the release into PREFIX (/usr/local): programs, data, manual pages, completions
	cmake --install build/release --prefix $(PREFIX) --strip

package: build ## make a Debian package of the release, in build/release
	cpack -G DEB --config build/release/CPackConfig.cmake -B build/release

asan: sanitizers ## run the tests that are not slow under AddressSanitizer and UndefinedBehaviorSanitizer
	cmake --preset asan
	cmake --build --preset asan --parallel $(JOBS)
	ctest --preset asan --parallel $(JOBS)

tsan: setup ## run what has threads under ThreadSanitizer: devices, engines, predictions, one in PART (16) of 900 runs
	cmake --preset tsan
	cmake --build --preset tsan --parallel $(JOBS) --target $(THREADED)
	set -e; for each in $(THREADED); do GTEST_TOTAL_SHARDS=$$([ $$each = run_test ] && echo $(PART) || echo 1) \
	    GTEST_SHARD_INDEX=0 build/tsan/tests/$$each --gtest_brief=1; done

fuzz: sanitizers ## attack every reader with libFuzzer, SECONDS (60) each: tests/fuzz/README.md
	cmake --preset asan
	cmake --build --preset asan --parallel $(JOBS) --target fuzzer
	tests/fuzz/hunt --build build/asan --seconds $(SECONDS) --jobs $(JOBS)

soak: setup ## hold CASES (1,000,000) random scenarios from seed FROM (0) on against the laws of tests/property
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target soak
	build/release/tests/soak --cases $(CASES) --from $(FROM) --threads $(JOBS)

faults: build ## kills, full disks, strangers, cut links: COUNT (1,000) of each, by tests/faults
	tests/faults/faults.py --build build/release --count $(COUNT)

bench: build ## time the simulation of every shipped scenario, of GPT-3 on up to 1,048,576 GPUs, and of one plan of many
	cmake --build --preset release --parallel $(JOBS) --target scale_bench plan_bench
	tools/bench build/release/orrery
	build/release/tests/scale_bench build/release/orrery
	build/release/tests/plan_bench

format: developer ## format all sources
	clang-format -i $(SOURCES)

format-check: developer ## fail where a source is not formatted
	clang-format --dry-run --Werror $(SOURCES)

tidy: developer ## check all sources with clang-tidy
	cmake --preset dev
	run-clang-tidy -quiet -p build/dev -j $(JOBS) '^$(CURDIR)/($(CODE))/'

setup: ## install missing Debian packages (as root or with sudo)
	@tools/setup

setup-test:
	@tools/setup --test

developer:
	@tools/setup --developer

sanitizers:
	@tools/setup --sanitizers

clean: ## remove everything built
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22
