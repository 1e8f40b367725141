package live

import (
	"testing"

	"github.com/yardmaster/yardmaster/studies/harness"
)

// TestLabETA asks a real ResourceManager, again and again, when its applications will end, and compares.
func TestLabETA(t *testing.T) {
	h := (&ETA{Apps: 30, Seed: 1}).Study()
	h.Options = harness.Options{Repetitions: 1, Dir: t.TempDir(), Log: t.Output()}
	if err := h.Record(needLab(t)); err != nil {
		t.Fatal(err)
	}
	_, list, err := h.Records()
	if err != nil {
		t.Fatal(err)
	}
	rec := list[0]
	n, c := len(rec.Answers), rec.Counts()
	if n < 50 {
		t.Fatalf("only %d predictions", n)
	}
	if t.Logf("%d predictions: %+v; %v", n, c, &rec.Measured); c.Inside < 0.65 || c.Off > 0.5 { // predictions of one moment stand or fall together: a short test cannot ask for 75 to 85 %
		t.Errorf("%.1f %% of the ends are inside their intervals of 80 %%; the median is off by %.0f %%", 100*c.Inside, 100*c.Off)
	}
}

// The counts of a record.
func TestETACounts(t *testing.T) {
	r := ETARecord{Answers: []ETAAnswer{
		{Asked: 0, Low: 5000, Median: 10_000, High: 15_000, End: 12_500}, {Asked: 0, Low: 5000, Median: 6000, High: 7000, End: 4000}, {Asked: 0, Low: 5000, Median: 6000, High: 7000, End: 8000}, {Low: 1, Median: 2, High: 3, End: 2},
	}}
	if c := r.Counts(); c.Inside != 0.5 || c.Early != 0.25 || c.Late != 0.25 || c.Off != 0.25 || c.Width != 0.5 {
		t.Errorf("%+v", c)
	}
}
