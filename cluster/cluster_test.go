package cluster

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
)

func TestParse(t *testing.T) {
	c, err := Parse("600x6/30")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Nodes) != 600 || len(c.Racks) != 30 || c.Containers(Unit) != 3600 || c.Nodes[599].Rack != 29 || c.Nodes[20].Rack != 1 {
		t.Errorf("%v, %d containers", c, c.Containers(Unit))
	}
	s, err := Parse("30x4+2/3")
	if err != nil || !s.Slots || s.Containers(Unit) != 180 || s.String() != "30 nodes in 3 racks, 120 map and 60 reduce slots" {
		t.Errorf("%v %v", s, err)
	}
	if one, err := Parse("1x1"); err != nil || one.String() != "1 node in 1 rack, 1 GiB and 1 vcore" {
		t.Errorf("%v %v", one, err)
	}
	for spec, want := range map[string]string{
		"600":    "no \"x\"",
		"ax6":    "not a whole number",
		"0x6":    "not between 1 and",
		"6x0":    "containers",
		"6x6/7":  "racks",
		"6x4+":   "reduce slots",
		"6x+4":   "map slots",
		"6x6/":   "racks",
		"1x1x1":  "containers",
		"9e9x1":  "not a whole number",
		"-1x1/1": "not between",
	} {
		if _, err := Parse(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
}

func TestUniformIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.IntRange(1, 50).Draw(t, "racks")
		c := Uniform(rapid.IntRange(racks, 500).Draw(t, "nodes"), racks, Unit)
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		in := make([]int, racks)
		for _, n := range c.Nodes {
			in[n.Rack]++
		}
		for r, n := range in {
			if n < len(c.Nodes)/racks || n > len(c.Nodes)/racks+1 {
				t.Fatalf("rack %d has %d of %d nodes", r, n, len(c.Nodes))
			}
		}
	})
}
