# A menu. The build itself is Meson's (meson.build).
BUILD := build
MESON_TEST := meson test --print-errorlogs --no-rebuild

.PHONY: all study check asan tsan fuzz bench tidy setup clean

all: setup
	@tools/build release

study: setup
	@tools/study

check:
	@tools/check

asan:
	@tools/check --sanitize address,undefined

tsan:
	@tools/check --sanitize thread

fuzz:
	@tools/fuzz

bench: all
	@tools/bench

tidy:
	@tools/tidy

setup:
	@tools/setup

clean:
	rm -rf $(BUILD)
