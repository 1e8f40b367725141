package marp

import (
	"testing"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// A change that was refused is not gone on from: however often it happens, the next one asks for the same step.
func TestNotMade(t *testing.T) {
	for _, who := range []string{"cbt", "static", "ahead"} {
		y := newYard(t, who, 6, nil)
		if who == "cbt" {
			y.begin()
		}
		y.jobs[0].Progress, y.jobs[0].Running = 60, 2
		var asked []float64
		for len(asked) < 5 {
			do, again := y.c.Step(y.snapshot())
			for _, a := range do {
				asked = append(asked, a.Value)
				y.c.(steer.Corrector).NotMade(a)
			}
			if y.now += again; again == 0 {
				t.Fatalf("%s gives up after %v", who, asked)
			}
		}
		if who == "ahead" && y.now > unit.Minute {
			t.Errorf("ahead waits for what was not made: %v", y.now)
		}
		for _, v := range asked {
			if v != asked[0] {
				t.Errorf("%s asks for %v while 0.05 is in force all the time", who, asked)
				break
			}
		}
	}
}

// Nor is the end of a batch: the first value is asked for until it is made.
func TestEndNotMade(t *testing.T) {
	y := newYard(t, "cbt", 2, func(s *Settings) { s.Service = true })
	y.begin()
	y.expect(Raise, 0.09, 31*sec)
	y.jobs = nil
	var asked []unit.Time
	for y.now < 10*unit.Minute {
		do, again := y.c.Step(y.snapshot())
		if len(do) > 0 {
			if do[0].Value != 0.05 {
				t.Fatalf("%v: %v", do, y.c.Last())
			}
			y.c.(steer.Corrector).NotMade(do[0])
			asked = append(asked, y.now)
		}
		y.now += again
	}
	if n := len(asked); n < 8 || n > 30 || asked[n-1]-asked[n-2] < 30*sec { // not all that an hour allows
		t.Errorf("asked at %v", asked)
	}
}
