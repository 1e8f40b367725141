# make            build the command
# make check      what to run before every commit: format, vet, lint, tests; under three minutes
# make ci         everything that CI runs
# See CONTRIBUTING.md for the rest.

GO ?= go
BIN := bin/yardmaster

.PHONY: build check format lint test race fuzz explore mutate ci demo man golden unchanged licences images release site sbom vulnerabilities clean

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN) ./cmd/yardmaster

check: format lint
	$(GO) test -short ./...

format:
	@files=$$(gofmt -l $$($(GO) list -f '{{.Dir}}' ./...)); if [ -n "$$files" ]; then echo "not gofmt'ed:"; echo "$$files"; exit 1; fi
	$(GO) vet ./...

lint:
	@if command -v golangci-lint >/dev/null; then golangci-lint run; else echo "golangci-lint is not installed; CI runs it"; fi

test:
	$(GO) test ./...

race:
	RAPID_CHECKS=20 $(GO) test -race -short ./...

fuzz:
	scripts/ci-fuzz.sh 20s

# Before a release: new cases for every property and fuzz test. Takes hours; go on after an interruption by starting it again.
explore:
	.ci/run explore

# Would the unit tests notice? Runs the mutants of scripts/mutate/mutants.txt and records the score.
mutate:
	CGO_ENABLED=0 $(GO) run ./scripts/mutate -o docs/studies/mutation.md

ci:
	.ci/run

demo: build
	$(BIN) demo -o demo.html

man: build
	$(BIN) man bin/man

# Rewrite golden files after a change that was meant; read the difference before committing it.
golden:
	UPDATE=1 $(GO) test ./scenario ./studies/experiment ./cli

# Are results what they were? Replays scenarios with a build of BASE (a commit; else where this branch left main) and of this tree.
unchanged:
	scripts/unchanged.sh $(BASE)

# The licence texts of what is linked; run it after a change of go.mod, which a test asks for.
licences:
	$(GO) run ./scripts/licences > THIRD_PARTY_LICENSES.new && mv THIRD_PARTY_LICENSES.new THIRD_PARTY_LICENSES
	$(GO) build -o bin/licences ./scripts/licences
	cd kube && ../bin/licences $$(ls -d ./cmd/*) > THIRD_PARTY_LICENSES.new && mv THIRD_PARTY_LICENSES.new THIRD_PARTY_LICENSES

# Container images of what runs on Kubernetes (IMAGES=yardmaster: the command): archives in bin, made without Docker.
IMAGES ?= yardmaster-controller yardmaster-scheduler
images:
	for p in $(IMAGES); do m=kube; [ -e kube/cmd/$$p ] || m=.; \
		CGO_ENABLED=0 GOOS=linux $(GO) build -C $$m -trimpath -ldflags '-s -w' -o $(CURDIR)/bin/$$p ./cmd/$$p && \
		$(GO) run -C kube ./image -o ../bin/$$p.tar -name $$p:latest ../bin/$$p ../LICENSE ../NOTICE ../$$m/THIRD_PARTY_LICENSES || exit 1; done

# Everything of a release, from the tag that is checked out, in the folder dist.
release:
	scripts/release.sh dist

# The site of the pages, in dist/site; scripts/ci-site.sh checks it.
site:
	scripts/site.sh dist/site

# A bill of materials of the built command (CycloneDX).
sbom: build
	$(GO) run ./scripts/sbom $(BIN) > $(BIN).cdx.json

# Known vulnerabilities of what is linked; needs https://vuln.go.dev or YARDMASTER_VULNDB.
vulnerabilities:
	scripts/ci-vulnerabilities.sh

clean:
	rm -rf bin .cache demo.html
