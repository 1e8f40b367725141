package harness

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type record struct {
	Way        string
	Repetition int
}

// study makes no runs on daemons: its record is what was asked for.
func study(dir string, log io.Writer) *Study[record] {
	return &Study[record]{
		Options: Options{Repetitions: 1, Dir: dir, Log: log}, Ways: []string{"a", "b", "c"}, Series: "run", Template: "{{range .Records}}{{.Way}}{{.Repetition}} {{end}}",
		Run: func(_ context.Context, now *Run) (*record, string, error) {
			return &record{now.Way, now.Repetition}, "done", nil
		},
	}
}

func planned(t *testing.T, s *Study[record]) string {
	t.Helper()
	list, err := s.Plan()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range list {
		names = append(names, fmt.Sprint(r.Way, r.Repetition))
	}
	return strings.Join(names, " ")
}

func TestPlan(t *testing.T) {
	key := func(r *record) (string, int) { return r.Way, r.Repetition }
	for name, c := range map[string]struct {
		set  func(s *Study[record])
		want string
	}{
		"rotated":            {func(*Study[record]) {}, "a1 b1 c1 b2 c2 a2"},
		"one way":            {func(s *Study[record]) { s.Ways = nil }, "1 2"},
		"together":           {func(s *Study[record]) { s.Together = true }, "1 2"},
		"one goes first":     {func(s *Study[record]) { s.First = "b" }, "b1 a1 c1 b2 c2 a2"},
		"an order":           {func(s *Study[record]) { s.Order = func(int) []string { return []string{"c", "a"} } }, "c1 a1 c2 a2"},
		"selected":           {func(s *Study[record]) { s.Only = []string{"a", "c"} }, "a1 c1 c2 a2"},
		"after those stored": {func(s *Study[record]) { s.Key = key }, "c3 a3 b3 a4 b4 c4"},
		"what is missing":    {func(s *Study[record]) { s.Key, s.Resume = key, true }, "b1 c1 b2 a2"},
		"from a number":      {func(s *Study[record]) { s.Key, s.Resume, s.From = key, true, 2 }, "b2 a2 c3 a3 b3"},
	} {
		s := study(t.TempDir(), io.Discard)
		for _, r := range []record{{"a", 1}, {"c", 2}} {
			s.Ways, s.From = []string{r.Way}, r.Repetition
			if err := s.Record(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.Ways, s.From, s.Repetitions = []string{"a", "b", "c"}, 0, 2
		c.set(s)
		if got := planned(t, s); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	s := study("", io.Discard)
	s.Only = []string{"d"}
	if _, err := s.Plan(); err == nil || !strings.Contains(err.Error(), "choose from a, b, c") {
		t.Errorf("an unknown way: %v", err)
	}
}

// Clusters share the repetitions; a failure of one does not stop the other, and what was complete is stored.
func TestClusters(t *testing.T) {
	s := study(t.TempDir(), io.Discard)
	s.Ways, s.Clusters, s.Repetitions = []string{"a"}, 2, 6
	run := s.Run
	s.Run = func(ctx context.Context, now *Run) (*record, string, error) {
		if now.Repetition == 3 {
			return nil, "", fmt.Errorf("broken")
		}
		return run(ctx, now)
	}
	if err := s.Record(t.Context()); err == nil || !strings.Contains(err.Error(), "a, repetition 3: broken") {
		t.Errorf("%v", err)
	}
	_, records, err := s.Records()
	var got []int
	for _, r := range records {
		got = append(got, r.Repetition)
	}
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []int{1, 2, 4, 6}) {
		t.Errorf("%v, %v", got, err)
	}
}

// The verb records, writes the page and prints it; offline it only writes the page.
func TestVerb(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records")
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		f := flag.NewFlagSet("study", flag.ContinueOnError)
		f.SetOutput(io.Discard)
		s := study("", nil)
		s.Small = func() { s.Ways = []string{"small"} }
		do := s.Verb(f, &out)
		if err := f.Parse(append([]string{"--dir", dir}, args...)); err != nil {
			return "", err
		}
		err := do(t.Context())
		return out.String(), err
	}
	if _, err := run("--offline"); err == nil || !strings.Contains(err.Error(), "no records yet") {
		t.Errorf("without records: %v", err)
	}
	out, err := run("--only", "c,a")
	if err != nil || !strings.Contains(out, "2/2  c, repetition 1: done; load ") || !strings.Contains(out, "a1 c1 \nwritten to "+dir+".md") {
		t.Errorf("%s, %v", out, err)
	}
	if out, err = run("--small"); err != nil || !strings.Contains(out, "a1 c1 small1 ") {
		t.Errorf("%s, %v", out, err)
	}
	if out, err = run("--offline"); err != nil || strings.Contains(out, "repetition") {
		t.Errorf("%s, %v", out, err)
	}
	if page, err := os.ReadFile(dir + ".md"); err != nil || string(page) != "a1 c1 small1 " {
		t.Errorf("%s, %v", page, err)
	}
	if _, err := run("--binary", "x"); err == nil {
		t.Error("a study that does not use the command takes one")
	}
}
