package yardstick

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

func needLab(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("needs SimGrid and a minute; set YARDMASTER_LAB_TESTS=1")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(cancel)
	if _, err := simgrid.built(ctx); errors.Is(err, ErrMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// TestLabSimGrid has SimGrid and our network play the same lists: every flow ends at the same instant, and ours is fast enough.
func TestLabSimGrid(t *testing.T) {
	ctx := needLab(t)
	var log strings.Builder
	r, err := CompareFlows(ctx, Mini, &log)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	x := summarise(&r)
	if !x.Fast { // other work of the computer slows them unequally
		t.Log("again, for:", r.Speeds)
		again, err := CompareFlows(ctx, Mini, &log)
		if err != nil {
			t.Fatal(err)
		}
		r.Speeds = again.Speeds
		x = summarise(&r)
	}
	t.Logf("SimGrid %s; ends within %.0e: %v; %.0f times as fast at %d: %v\n%s", r.SimGrid, maxDifference, x.Ends, minRatio, fastAlive, x.Fast, log.String())
	for _, c := range r.Cases {
		if !c.Difference.met() {
			t.Errorf("%s: %s; from the exact ends SimGrid is off by %.1e, ours by %.1e", c.Name, c.Difference, c.TheirsOff, c.OursOff)
		}
	}
	if !x.Fast {
		t.Errorf("too slow: %v", r.Speeds)
	}
}

// Without the settings SimGrid is not plain max-min: acknowledgements take 5 % of the way back unless that is turned off.
func TestLabSimGridSettings(t *testing.T) {
	ctx := needLab(t)
	both := List{ // two paths are the two ways between two hosts
		Name: "both-ways", Links: []float64{1e6, 1e6}, Paths: [][]int32{{0}, {1}},
		Flows: []Flow{{Path: 0, Bytes: 1e6}, {Path: 1, Bytes: 1e6}},
	}
	for name, c := range map[string]struct {
		without string
		end     float64
	}{
		"all":          {"nothing", 1},
		"crosstraffic": {"network/crosstraffic", 1.05},
		"model":        {"network/model", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var settings []string
			for _, s := range Settings {
				if !strings.Contains(s, c.without) {
					settings = append(settings, s)
				}
			}
			out, _, err := simgrid.run(ctx, settings, func(w io.Writer) error { return Write(w, both) })
			if err != nil {
				t.Fatal(err)
			}
			plays, err := parsePlays(out, []List{both})
			if err != nil {
				t.Fatal(err)
			}
			if got := plays[0].Ends[0]; math.Abs(got-c.end) > 1e-9 {
				t.Errorf("the flow ended at %v, want %v", got, c.end)
			}
		})
	}
}
