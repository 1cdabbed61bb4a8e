# make help lists the targets.
.DEFAULT_GOAL := help
GO ?= go
# make run CONFIG=my.yaml runs the dashboard alone, on your own systems.
CONFIG ?=
# Further arguments of run, truth and matrix, as in make run ARGS='-set orders.resend=0.05' and make truth ARGS='-seeds 1'.
ARGS ?=

.PHONY: run check test matrix bench truth build web generate check-format clean help

run: ## try it: sample shop, private servers and dashboard; with CONFIG=FILE the dashboard alone
ifeq ($(CONFIG),)
	@scripts/setup run
	@scripts/web
	@$(MAKE) --no-print-directory build
	@exec bin/playground $(ARGS)
else
	@scripts/web
	@$(MAKE) --no-print-directory build
	@exec bin/dashboard serve -config "$(CONFIG)"
endif

check: ## check format, generated code, imports and all that needs no server, in minutes
	@scripts/check

test: ## check format, generated code and rules, then run all tests on real servers and in a browser
	@scripts/setup test
	@scripts/test

matrix: ## run the tests that need a server on newer versions of each, and write docs/servers.md
	@scripts/setup test
	@scripts/matrix $(ARGS)

bench: ## measure the figures of the product and compare each with its target
	@scripts/setup bench
	@scripts/bench

truth: ## compare the figures of the product with what real consumers count, in under an hour, and write the table of docs/accuracy.md
	@scripts/setup bench
	@scripts/truth -out docs/accuracy.md $(ARGS)

build: ## build bin/dashboard and bin/playground
	@echo "==> Building bin/dashboard and bin/playground"
	@mkdir -p bin
	@$(GO) build -o bin/ ./cmd/dashboard ./cmd/playground

web: ## build the scripts and styles of the pages
	@scripts/web required

generate: ## generate Go code from the templates
	@$(GO) tool templ generate

check-format: ## fail if a Go file is not formatted
	@scripts/check-format

clean: ## remove what was built; the playground's folder stays
	@rm -rf bin test-results
	@find web/static/dist -mindepth 1 ! -name .gitkeep -delete 2>/dev/null || true

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14
