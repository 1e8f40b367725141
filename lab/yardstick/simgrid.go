package yardstick

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

//go:embed simgrid/flows.cpp
var simgridSource string

var simgrid = program{
	name: "simgrid", source: simgridSource, header: "simgrid/s4u.hpp", packages: "g++ libsimgrid-dev", options: []string{"-lsimgrid"},
}

// Settings make SimGrid's network plain max-min sharing, together with links that have no latency.
var Settings = []string{
	"--cfg=network/model:CM02",
	"--cfg=network/TCP-gamma:0",        // no window that bounds a flow
	"--cfg=network/bandwidth-factor:1", // all of a link's capacity is for data
	"--cfg=network/latency-factor:1",
	"--cfg=network/weight-S:0",     // a share does not depend on latency
	"--cfg=network/crosstraffic:0", // no acknowledgements of 5 % on the way back
	"--cfg=surf/precision:1e-12",   // seconds within which two instants are one; the default is 1e-9
	"--log=root.thres:critical",
}

// Play is what came of a list.
type Play struct {
	Ends []float64 // by flow, in seconds; -1: it did not end
	CPU  float64   // seconds of processor time, without what comes before the first flow
}

// SimGrid plays lists in SimGrid.
func SimGrid(ctx context.Context, lists ...List) ([]Play, error) {
	return simgridWith(ctx, "", lists...)
}

// simgridWith plays lists with one of the settings given anew.
func simgridWith(ctx context.Context, setting string, lists ...List) ([]Play, error) {
	var settings []string
	name, _, _ := strings.Cut(setting, ":")
	for _, s := range Settings {
		if setting == "" || !strings.HasPrefix(s, name+":") {
			settings = append(settings, s)
		}
	}
	if setting != "" {
		settings = append(settings, setting)
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

// parsePlays reads what the program for SimGrid writes.
func parsePlays(out []byte, lists []List) ([]Play, error) {
	in := bufio.NewReader(bytes.NewReader(out))
	plays := make([]Play, len(lists))
	for i := range lists {
		var name string
		var ended int
		var setup float64
		if _, err := fmt.Fscanf(in, "case %s %d %g %g\n", &name, &ended, &plays[i].CPU, &setup); err != nil || name != lists[i].Name {
			return nil, fmt.Errorf("SimGrid's answer has %q where %s should begin: %v", name, lists[i].Name, err)
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
