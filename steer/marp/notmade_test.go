package marp

import (
	"testing"

	"github.com/yardmaster/yardmaster/steer"
)

// A change that was refused is not gone on from: however often it happens, the next one asks for the same step.
func TestNotMade(t *testing.T) {
	for _, who := range []string{"cbt", "static"} {
		y := newYard(t, who, 6, nil)
		if who == "cbt" {
			y.begin()
		}
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
		for _, v := range asked {
			if v != asked[0] {
				t.Errorf("%s asks for %v while 0.05 is in force all the time", who, asked)
				break
			}
		}
	}
}
