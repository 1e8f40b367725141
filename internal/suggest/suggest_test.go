package suggest

import (
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
)

func TestClosest(t *testing.T) {
	verbs := []string{"simulate", "compare", "import", "demo", "bench"}
	for word, want := range map[string]string{
		"simulat": "simulate", "smiulate": "simulate", "comapre": "compare", "Demo": "demo", "sim": "simulate", "impotr": "import",
		"xyzzy": "", "": "", "d": "",
	} {
		if got, _ := Closest(word, verbs); got != want {
			t.Errorf("Closest(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Hint("fiar", []string{"fifo", "fair"}); got != `; did you mean "fair"?` {
		t.Errorf("Hint = %s", got)
	}
}

func TestDistanceIsAMetricOnSingleEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringN(0, 12, -1).Draw(t, "a")
		b := rapid.StringN(0, 12, -1).Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) {
			t.Fatalf("distance(%q, %q) is not symmetric", a, b)
		}
		if (d == 0) != (a == b) {
			t.Fatalf("distance(%q, %q) = %d", a, b, d)
		}
		if most := max(len([]rune(a)), len([]rune(b))); d > most {
			t.Fatalf("distance(%q, %q) = %d, more than %d letters", a, b, d, most)
		}
	})
}
