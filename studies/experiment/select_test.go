package experiment

import (
	"context"
	"strings"
	"testing"
)

// twin is a second study that shares an id with the toy.
func twin() *Study {
	s := toy()
	s.Name, s.Checks, s.Sections = "twin", nil, nil
	s.Experiments = s.Experiments[:2]
	s.Experiments[1].ID = "U-2x"
	s.Experiments[1].Group = "apart"
	return s
}

func TestSelect(t *testing.T) {
	studies := []*Study{toy(), twin()}
	for words, want := range map[string]string{
		"toy":                     "toy/T01 toy/T02 toy/T03",
		"toy/":                    "toy/T01 toy/T02 toy/T03",
		"TOY":                     "toy/T01 toy/T02 toy/T03",
		"toy twin":                "toy/T01 toy/T02 toy/T03 twin/T01 twin/U-2x",
		"T02":                     "toy/T02",
		"t02":                     "toy/T02",
		"toy/T01":                 "toy/T01",
		"twin/t01":                "twin/T01",
		"T03 T02":                 "toy/T02 toy/T03",
		"T02 T02 toy/T02":         "toy/T02",
		"toy/T01..T03":            "toy/T01 toy/T02 toy/T03",
		"toy/T01..toy/T02":        "toy/T01 toy/T02",
		"T02..T03":                "toy/T02 toy/T03",
		"T02..T02":                "toy/T02",
		"toy/T*":                  "toy/T01 toy/T02 toy/T03",
		"toy/?0[13]":              "toy/T01 toy/T03",
		"U*":                      "twin/U-2x",
		"apart":                   "twin/U-2x",
		"toy/plain":               "toy/T01 toy/T02",
		"other queues/odd":        "toy/T03",
		"toy/other queues/odd":    "toy/T03",
		"cap-helps":               "toy/T01 toy/T02",
		"toy/ODD":                 "toy/T01 toy/T03",
		"cap-*":                   "toy/T01 toy/T02",
		"toy/O?d":                 "toy/T01 toy/T03",
		"T04":                     `"T04" names no experiment of any study; did you mean "T01"?`,
		"toy/capped":              `"capped" names no experiment of the study toy`,
		"toys":                    `"toys" names no experiment of any study; did you mean "toy"?`,
		"T01":                     `"T01" is in several studies: write toy/T01 or twin/T01`,
		"plain":                   `"plain" is in several studies: write toy/plain or twin/plain`,
		"T03..T02":                "T03..T02 goes backwards: write T02..T03",
		"T02..T09":                `"T09" names no experiment of the study toy`,
		"toy/T01..U-2x":           `"U-2x" names no experiment of the study toy`,
		"X01..X09":                `"X01..X09" names no experiment of any study`,
		"toy/[":                   `"[" is not a pattern`,
		"toy/Q*":                  `"Q*" names no experiment of the study toy`,
		"..":                      `".." names no experiment of any study`,
		"":                        "",
		"nothing/like/this":       `"nothing/like/this" names no experiment of any study`,
		"T02 nonsense-all-of-it!": `"nonsense-all-of-it!" names no experiment of any study`,
	} {
		var args []string
		switch {
		case strings.Contains(words, "other"):
			args = []string{words}
		default:
			args = strings.Fields(words)
		}
		got, err := Select(studies, args)
		if err != nil {
			if !strings.HasPrefix(err.Error(), want) || want == "" {
				t.Errorf("%s: %v\nwant %s", words, err, want)
			}
			continue
		}
		if names := strings.Join(named(got), " "); names != want {
			t.Errorf("%s: %s, want %s", words, names, want)
		}
	}
}

func named(selected []Selection) []string {
	var names []string
	for _, s := range selected {
		for _, id := range s.Experiments {
			names = append(names, s.Study.Name+"/"+id)
		}
	}
	return names
}

// Any input names existing experiments, each once and in order, or is an error with a message.
func FuzzSelect(f *testing.F) {
	for _, seed := range []string{"toy", "T01..T03", "toy/T*", "[", "toy/..", "a/b/c", "T01..", "..T02", "toy/plain", "*", "?"} {
		f.Add(seed)
	}
	studies := []*Study{toy(), twin()}
	f.Fuzz(func(t *testing.T, word string) {
		selected, err := Select(studies, []string{word})
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if len(selected) == 0 {
			t.Fatalf("%q is no error and selects nothing", word)
		}
		for _, s := range selected {
			last := -1
			for _, id := range s.Experiments {
				at := s.Study.at(id)
				if at <= last {
					t.Fatalf("%q: %s out of order", word, id)
				}
				last = at
			}
		}
	})
}

func TestValidate(t *testing.T) {
	if err := toy().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Study){
		"is not a name":              func(s *Study) { s.Name = "a/b" },
		"it has no experiments":      func(s *Study) { s.Experiments = nil },
		"T01 is there twice":         func(s *Study) { s.Experiments[1].ID = "T01" },
		"is not an id":               func(s *Study) { s.Experiments[0].ID = "T0*" },
		"has no Run":                 func(s *Study) { s.Experiments[0].Run = nil },
		"has no group":               func(s *Study) { s.Experiments[0].Group = "" },
		"has no id":                  func(s *Study) { s.Checks[0].ID = "" },
		"is taken twice":             func(s *Study) { s.Checks[0].ID = "T01" },
		"is not a strength":          func(s *Study) { s.Checks[0].Strength = "C" },
		"has no judge with a rule":   func(s *Study) { s.Checks[0].Judge = Judge{Of: func(*Runs) Judgement { return Judgement{} }} },
		"needs no experiment":        func(s *Study) { s.Checks[0].Judge.Of = func(*Runs) Judgement { return Judgement{} } },
		"needs the experiment T09":   func(s *Study) { s.Checks[0].Needs = []string{"T01", "T09"} },
		"needs the experiment T08, ": func(s *Study) { s.Checks[0].Judge = AtLeast(Of("T08", "v"), 0) },
	} {
		s := toy()
		spoil(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := Run(context.Background(), plan(s, 1)); err == nil {
			t.Errorf("a study was run of which %q", want)
		}
	}
}

func TestFingerprints(t *testing.T) {
	ctx := context.Background()
	s := toy()
	var page strings.Builder
	if err := play(t, plan(s, 4)).WriteMarkdown(&page, ""); err != nil {
		t.Fatal(err)
	}
	printed, err := PageFingerprints(strings.NewReader(page.String()))
	if err != nil || len(printed) != 1 || printed["toy"].Seed != 1 {
		t.Fatalf("%v, %v", printed, err)
	}
	if err := toy().Fresh(ctx, printed["toy"]); err != nil {
		t.Errorf("a page just printed: %v", err)
	}
	for want, change := range map[string]func(*Study){
		"texts, settings or rules": func(s *Study) { s.Checks[2].Judge = Within(Of("T01", "locality"), 0.45, 0.551) },
		"texts, settings":          func(s *Study) { s.Experiments[0].Setup[0].Value = "60 %" },
		"texts":                    func(s *Study) { s.Assumptions[0] += "!" },
		"figures of the study toy have changed since its page was printed (of T01, T02, T03)": func(s *Study) {
			play := s.Experiments[1].Run // not the first of its group
			s.Experiments[1].Run = func(ctx context.Context, seed uint64) (Metrics, error) {
				m, err := play(ctx, seed)
				m["noise"] *= 1.0001
				return m, err
			}
		},
		"toy/T03, seed 1: no": func(s *Study) {
			s.Experiments[2].Run = func(context.Context, uint64) (Metrics, error) { return nil, context.DeadlineExceeded }
		},
	} {
		s := toy()
		change(s)
		err := s.Fresh(ctx, printed["toy"])
		if want, _ := strings.CutSuffix(want, "no"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if f := play(t, plan(toy(), 2, "T01")).Studies[0].Fingerprint; f.Probe != "" {
		t.Errorf("a part of a study has the probe %s", f.Probe)
	}
}
