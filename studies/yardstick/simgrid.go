package yardstick

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
)

//go:embed simgrid/flows.cpp
var simgridSource string

var simgrid = program{
	name: "simgrid", source: simgridSource, header: "simgrid/s4u.hpp", packages: "g++ libsimgrid-dev", options: []string{"-lsimgrid"},
}

// Settings reduce SimGrid's network to plain max-min sharing, together with zero-latency links.
var Settings = []string{
	"--cfg=network/model:CM02",
	"--cfg=network/TCP-gamma:0",        // no window limit per flow
	"--cfg=network/bandwidth-factor:1", // the full capacity of a link is for data
	"--cfg=network/latency-factor:1",
	"--cfg=network/weight-S:0",     // a share does not depend on latency
	"--cfg=network/crosstraffic:0", // no acknowledgements of 5 % on the way back
	"--cfg=surf/precision:1e-12",   // seconds within which two instants are one; the default is 1e-9
	"--log=root.thres:critical",
}

// Play is the result of a list.
type Play struct {
	Ends []float64 // by flow, in seconds; -1: it did not end
	CPU  float64   // CPU seconds, excluding setup before the first flow
}

// SimGrid plays lists in SimGrid.
func SimGrid(ctx context.Context, lists ...List) ([]Play, error) {
	return simgridWith(ctx, "", lists...)
}

// simgridWith plays lists with one setting overridden.
func simgridWith(ctx context.Context, setting string, lists ...List) ([]Play, error) {
	settings := Settings
	if setting != "" {
		name, _, _ := strings.Cut(setting, ":")
		settings = append(slices.DeleteFunc(slices.Clone(Settings), func(s string) bool { return strings.HasPrefix(s, name+":") }), setting)
	}
	out, _, err := simgrid.run(ctx, settings, func(w io.Writer) error { return Write(w, lists...) })
	if err != nil {
		return nil, err
	}
	return parsePlays(out, lists)
}

// simgridVersion is the library's own.
func simgridVersion(ctx context.Context) (string, error) {
	file, err := simgrid.built(ctx)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, file, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("asking SimGrid for its version: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// parsePlays parses the output of the SimGrid program.
func parsePlays(out []byte, lists []List) ([]Play, error) {
	in := bufio.NewReader(bytes.NewReader(out))
	plays := make([]Play, len(lists))
	for i := range lists {
		var name string
		var ended int
		var setup float64
		if _, err := fmt.Fscanf(in, "case %s %d %g %g\n", &name, &ended, &plays[i].CPU, &setup); err != nil || name != lists[i].Name {
			return nil, fmt.Errorf("SimGrid's output has %q where %s should begin: %v", name, lists[i].Name, err)
		}
		plays[i].Ends = make([]float64, len(lists[i].Flows))
		for k := range plays[i].Ends {
			if _, err := fmt.Fscanln(in, &plays[i].Ends[k]); err != nil {
				return nil, fmt.Errorf("SimGrid's end of flow %d of %s: %w", k, lists[i].Name, err)
			}
		}
	}
	return plays, nil
}

// ErrMissing: a compiler or a library is not installed; the error's text says what to install.
var ErrMissing = errors.New("it is not installed")

// program is C++ that is compiled on first use.
type program struct {
	name, source string
	header       string // whose presence shows that the library is installed
	packages     string // of Debian
	options      []string
}

// built compiles the program into the lab's folder unless it exists, and returns its file.
func (p program) built(ctx context.Context) (string, error) {
	home, err := hadoop.Home()
	if err != nil {
		return "", err
	}
	missing := func() error {
		return fmt.Errorf("%s: %w: install it with apt-get install %s", p.name, ErrMissing, p.packages)
	}
	compiler, err := exec.LookPath("g++")
	if err != nil {
		return "", missing()
	}
	probe := exec.CommandContext(ctx, compiler, "-E", "-x", "c++", "-o", os.DevNull, "-")
	probe.Stdin = strings.NewReader("#include <" + p.header + ">\n")
	if probe.Run() != nil {
		return "", errors.Join(missing(), ctx.Err())
	}
	sum := sha256.Sum256([]byte(p.source + strings.Join(p.options, " ")))
	file := filepath.Join(home, "yardstick", fmt.Sprintf("%s-%x", p.name, sum[:6]))
	err = hadoop.Once(file, func(tmp, into string) error {
		source := filepath.Join(tmp, p.name+".cpp")
		if err := os.WriteFile(source, []byte(p.source), 0o600); err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, compiler, append([]string{"-std=c++17", "-O2", "-o", into, source}, p.options...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("compiling %s: %w", p.name, err)
	}
	return file, nil
}

// run passes a program its input in a file, and returns its output and its CPU seconds.
func (p program) run(ctx context.Context, args []string, input func(io.Writer) error) (out []byte, took float64, err error) {
	file, err := p.built(ctx)
	if err != nil {
		return nil, 0, err
	}
	in, err := os.CreateTemp("", "yardmaster-flows-")
	if err != nil {
		return nil, 0, fmt.Errorf("writing the input of %s: %w", p.name, err)
	}
	defer func() { _ = os.Remove(in.Name()) }()
	if err := errors.Join(input(in), in.Close()); err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, file, append([]string{in.Name()}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if out, err = cmd.Output(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w\n%s", p.name, err, stderr.Bytes())
	}
	return out, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}
