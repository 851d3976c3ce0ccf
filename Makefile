# The commands of everyday work; CMakePresets.json holds what they configure. `make help` lists them.

SCENARIO ?= scenarios/gpt3-175b-superpod-a100.json
JOBS     ?= $(shell nproc)
FOLDERS  := base hardware kernels models topology strategies scenarios calibrate run sim planning validate report \
            cli tests
CODE     := base|hardware|kernels|models|topology|strategies|scenarios|calibrate|run|sim|planning|validate|report|cli
SOURCES   = $(shell find $(FOLDERS) -name '*.hpp' -o -name '*.cpp')

.DEFAULT_GOAL := help
.PHONY: run build test asan tsan bench format format-check tidy clean help setup developer

run: build ## build a release and predict the scenario in SCENARIO
	build/release/orrery simulate $(SCENARIO)

build: setup ## build the release: build/release/orrery, and orrery-device, which it starts
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target orrery orrery-device

test: setup ## build everything with warnings as errors and run every test
	cmake --preset dev
	cmake --build --preset dev --parallel $(JOBS)
	ctest --preset dev --parallel $(JOBS)

asan: setup ## run the tests that are not slow under AddressSanitizer and UndefinedBehaviorSanitizer
	cmake --preset asan
	cmake --build --preset asan --parallel $(JOBS)
	ctest --preset asan --parallel $(JOBS)

tsan: setup ## run the unit tests under ThreadSanitizer
	cmake --preset tsan
	cmake --build --preset tsan --parallel $(JOBS)
	ctest --preset tsan --parallel $(JOBS)

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

developer:
	@tools/setup --developer

clean: ## remove everything built
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22
