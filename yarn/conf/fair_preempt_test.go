package conf

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

func TestFairPreemption(t *testing.T) {
	read := func(text string) (*Fair, error) {
		return ReadFair(strings.NewReader("<allocations>"+text+"</allocations>"), "f.xml")
	}
	c, err := read(`
		<fairSharePreemptionTimeout>7</fairSharePreemptionTimeout>
		<defaultFairSharePreemptionTimeout>30</defaultFairSharePreemptionTimeout>
		<defaultFairSharePreemptionThreshold>1.5</defaultFairSharePreemptionThreshold>
		<queue name="a">
			<minSharePreemptionTimeout>5</minSharePreemptionTimeout>
			<fairSharePreemptionTimeout>99999999999999999</fairSharePreemptionTimeout>
			<fairSharePreemptionThreshold>0.25</fairSharePreemptionThreshold>
			<allowPreemptionFrom>false</allowPreemptionFrom>
		</queue>
		<queue name="b"><allowPreemptionFrom>true</allowPreemptionFrom></queue>`)
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Root; r.MinShareTimeout != unit.Never || r.FairShareTimeout != 30*unit.Second || r.FairShareThreshold != 1 || r.KeepContainers {
		t.Errorf("root: %+v", r)
	}
	a, b := c.Root.Children[0], c.Root.Children[1]
	if a.MinShareTimeout != 5*unit.Second || a.FairShareTimeout != unit.Never || a.FairShareThreshold != 0.25 || !a.KeepContainers {
		t.Errorf("a: %+v", a)
	}
	if b.MinShareTimeout != -1 || b.FairShareTimeout != -1 || b.FairShareThreshold != -1 || b.KeepContainers {
		t.Errorf("b: %+v", b)
	}
	if len(c.Preemption) != 8 || len(c.NotModelled) != 8 {
		t.Errorf("%d of %d notes concern preemption, want 8 of 8", len(c.Preemption), len(c.NotModelled))
	}
	for _, bad := range []string{"<defaultMinSharePreemptionTimeout>soon</defaultMinSharePreemptionTimeout>",
		"<queue name=\"a\"><fairSharePreemptionThreshold>half</fairSharePreemptionThreshold></queue>"} {
		if _, err := read(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
