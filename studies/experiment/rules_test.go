package experiment

import "testing"

func TestRules(t *testing.T) {
	r := Rules{Words: map[string]string{"both": "E1+E2"}}
	of := func(args ...any) []any { return args }
	for want, rule := range map[string]map[string]any{
		"mean(E1 a/x, E2 a/x) < E3 a/x":                             {"less": of("$both a/x", "E3 a/x")},
		"(E1 a / E2 a): at most 2":                                  {"atmost": of(map[string]any{"over": of("E1 a", "E2 a")}, 2)},
		"[E1: E1 a: 0 to 1 and E2: E2 a: 0 to 1]":                   {"each": "e in $both", "within": of("$e a", 0, 1)},
		"[x/y: E1 x > E1 y or z/w: E1 z > E1 w]":                    {"some": "a b in x y z w", "as": "$a/$b", "rises": of("E1 $b", "E1 $a")},
		"[p q u: E1 p q/u: at least 1 and r u: E1 r/u: at least 1]": {"each": "p in p q, r; w in u", "atleast": of("E1 $p/$w", 1)},
	} {
		if got := r.Judge(rule).Rule; got != want {
			t.Errorf("%v: %s, want %s", rule, got, want)
		}
	}
	if got := (&Rules{}).Judge(map[string]any{"each": "e in E1", "atmost": of("$e a", 1)}).Rule; got != "E1: E1 a: at most 1" {
		t.Error(got)
	}
	for _, wrong := range []map[string]any{{"near": of("E1 a")}, {"less": of("E1 a")}, {"less": of("E1 $no", "E2 a")}} {
		func() {
			defer func() { _ = recover() }()
			t.Errorf("%v was taken: %s", wrong, r.Judge(wrong).Rule)
		}()
	}
}
