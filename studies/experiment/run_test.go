package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yardmaster/yardmaster/internal/term"
)

func play(t testing.TB, p Plan) *Findings {
	t.Helper()
	f, err := Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func check(t testing.TB, f *Findings, id string) *CheckFinding {
	t.Helper()
	for i := range f.Studies[0].Checks {
		if c := &f.Studies[0].Checks[i]; c.ID == id {
			return c
		}
	}
	t.Fatalf("no finding on %s", id)
	return nil
}

func TestVerdicts(t *testing.T) {
	f := play(t, plan(toy(), 10))
	for id, want := range map[string]string{
		"cap-helps": "PASS", "cap-hurts": "MISS", "locality": "SAYS NOTHING", "noise": "MISS", "odd": "RECORD differs", "long": "RECORD as reported",
	} {
		if got := check(t, f, id).Outcome(); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if c := check(t, f, "noise"); c.Note != noteUnsure {
		t.Errorf("noise: %q, want %q", c.Note, noteUnsure)
	}
	if c := check(t, f, "cap-helps"); c.Why != "" {
		t.Errorf("a check that holds gives a reason for a miss: %s", c.Why)
	}
	if f.OK() {
		t.Error("an A check misses, and all is well?")
	}
	if f.Done != 30 || f.Planned != 30 || f.Partial {
		t.Errorf("%d of %d runs, partial %v", f.Done, f.Planned, f.Partial)
	}
}

// A check that says nothing counts neither way, whatever its strength; one that follows from the model's numbers and misses is a miss.
func TestVacuousChecks(t *testing.T) {
	says := func(holds bool, nothing string) Judge {
		return Judge{Rule: "x", Of: func(r *Runs) Judgement { r.Values("T01", "locality"); return Judgement{Holds: holds, Vacuous: nothing} }}
	}
	s := toy()
	s.Headline = nil
	s.Checks = []Check{
		{ID: "built", Strength: A, ByConstruction: true, Judge: says(true, "")}, {ID: "built-misses", Strength: B, ByConstruction: true, Judge: says(false, "")},
		{ID: "idle", Strength: A, Vacuous: "nothing moves", Judge: says(true, "")}, {ID: "idle-misses", Strength: B, Vacuous: "nothing moves", Judge: says(false, "")},
		{ID: "chance", Strength: R, Judge: says(true, "chance")}, {ID: "chance-misses", Strength: A, Judge: says(false, "chance")}, {ID: "holds", Strength: A, Judge: says(true, "")},
	}
	f := play(t, plan(s, 2))
	if got, want := f.Studies[0].Summary(), "A: 1 pass, 0 miss, 3 say nothing. B: 2 miss. R: 1 say nothing."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if !f.OK() {
		t.Error("a check that says nothing counts as missed")
	}
	if n := len(f.Studies[0].vacuous()); n != 4 {
		t.Errorf("%d are listed", n)
	}
}

// A check that does not hold over a few seeds is unclear if it may over more, and a miss if not; a check that holds states its claim.
func TestFewSeedsAreUnclear(t *testing.T) {
	for _, c := range []struct {
		check string
		seeds int
		want  Verdict
	}{{"noise", 1, Pass}, {"noise", 3, Unclear}, {"noise", 10, Miss}, {"cap-hurts", 3, Miss}, {"cap-hurts", 1, Unclear}, {"cap-helps", 3, Pass}} {
		if f := check(t, play(t, plan(toy(), c.seeds)), c.check); f.Verdict != c.want {
			t.Errorf("%s over %d seeds: %s, want %s", c.check, c.seeds, f.Verdict, c.want)
		}
	}
	sure, unsure := Judgement{}, Judgement{Open: true}
	for want, j := range map[bool][]Judgement{true: {{all: true, Parts: []Judgement{unsure, {Holds: true}}}, {Parts: []Judgement{sure, unsure}}}, false: {{all: true, Parts: []Judgement{unsure, sure}}, sure}} {
		for _, of := range j {
			if of.open() != want {
				t.Errorf("%+v is open: %v", of, !want)
			}
		}
	}
	f := play(t, plan(toy(), 3))
	var out strings.Builder
	Console{}.Write(&out, f)
	for _, want := range []string{"    says: A cap makes short jobs wait less\n", "1 unclear", "What is unclear may hold over more seeds: give --seeds 10.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, out.String())
		}
	}
}

// An experiment may be run with the first seeds only; its checks are judged on those.
func TestFewerSeeds(t *testing.T) {
	s := toy()
	s.Experiments[1].Seeds = 4
	f := play(t, plan(s, 10))
	if f.Done != 24 || f.Planned != 24 || f.Partial {
		t.Errorf("%d of %d runs, partial %v", f.Done, f.Planned, f.Partial)
	}
	if c := check(t, f, "cap-helps"); c.Seeds != 4 || c.Outcome() != "PASS" {
		t.Errorf("cap-helps: %s on %d seeds", c.Outcome(), c.Seeds)
	}
	if c := check(t, f, "odd"); c.Seeds != 10 {
		t.Errorf("odd: on %d seeds", c.Seeds)
	}
}

// A revised rule keeps the verdict of its first form: judged on the same runs or, where that is no longer possible, as recorded.
func TestARevisedRuleKeepsItsFirstVerdict(t *testing.T) {
	s := toy()
	first := Less(Of("T01", "wait/short"), Of("T02", "wait/short")) // does not hold
	s.Checks[0].Revised = &Revision{First: first, Why: "somebody wished it"}
	s.Checks[1].Revised = &Revision{First: Judge{Rule: "long jobs wait forever"}, Gave: &Judgement{Holds: true, Ours: "forever"}, Why: "the model was mended"}
	f := play(t, plan(s, 10))
	if c := check(t, f, "cap-helps"); c.Verdict != Pass || c.First == nil || c.First.Verdict != Miss || c.First.Rule != first.Rule || c.First.Ours == "" {
		t.Errorf("%s, at first %+v", c.Verdict, c.First)
	}
	if c := check(t, f, "cap-hurts"); c.Verdict != Miss || c.First.Verdict != Pass || c.First.Ours != "forever" {
		t.Errorf("%s, at first %+v", c.Verdict, c.First)
	}
	var page strings.Builder
	if err := f.WriteMarkdown(&page, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[rule revised; the first: MISS]", "[rule revised; the first: PASS]", "cap-hurts: first rule, long jobs wait forever: PASS (forever). Changed because the model was mended"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if c := check(t, play(t, plan(s, 3, "T01")), "cap-helps"); c.First.Verdict != NotRun {
		t.Errorf("without its experiments the first rule is %s", c.First.Verdict)
	}
	for what, r := range map[string]Revision{"no first rule": {Why: "x"}, "nothing that it gives": {First: Judge{Rule: "x"}, Why: "x"}, "no reason": {First: first}} {
		s.Checks[0].Revised = &r
		if s.Validate() == nil {
			t.Errorf("a revision with %s was taken", what)
		}
	}
}

func TestACheckNeedsAllItsExperiments(t *testing.T) {
	f := play(t, plan(toy(), 3, "T01"))
	if c := check(t, f, "cap-helps"); c.Verdict != NotRun || strings.Join(c.Lacks, " ") != "T02" {
		t.Errorf("%s, lacks %v", c.Verdict, c.Lacks)
	}
	if c := check(t, f, "locality"); c.Verdict != Vacuous {
		t.Errorf("locality: %s", c.Verdict)
	}
	if !f.OK() {
		t.Error("a check that was not judged counts as missed")
	}
	f = play(t, plan(toy(), 3, "T03"))
	for _, c := range f.Studies[0].Checks {
		if c.ID == "cap-helps" {
			t.Error("a check that looks at none of the experiments is listed")
		}
	}
}

func TestOneSeedHasNoInterval(t *testing.T) {
	f := play(t, plan(toy(), 1))
	if c := check(t, f, "cap-helps"); c.Verdict != Pass || c.Note != noteOneSeed || strings.Contains(c.Ours, "(") {
		t.Errorf("%s %q %q", c.Verdict, c.Ours, c.Note)
	}
}

// The number of workers and the order in which runs end change nothing.
func TestOrderDoesNotMatter(t *testing.T) {
	var want []byte
	for _, workers := range []int{1, 2, 7} {
		p := plan(toy(), 6)
		p.Workers = workers
		var got bytes.Buffer
		if err := play(t, p).WriteJSON(&got); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got.Bytes()
		} else if !bytes.Equal(want, got.Bytes()) {
			t.Errorf("%d workers give another result", workers)
		}
	}
}

func TestAFailingRunIsNamed(t *testing.T) {
	for name, how := range map[string]func(){"error": nil, "panic": func() { panic("the disk is full") }} {
		f := play(t, plan(failing(3, how), 5))
		if len(f.Failures) != 1 || f.Failures[0].Experiment != "toy/T02" || f.Failures[0].Seed != 3 || !strings.Contains(f.Failures[0].Error, "disk is full") {
			t.Fatalf("%s: %+v", name, f.Failures)
		}
		if f.OK() || f.Done != 14 || f.Partial {
			t.Errorf("%s: OK %v, %d done, partial %v", name, f.OK(), f.Done, f.Partial)
		}
		// The others continue, and the check is judged on the seeds that both have.
		if c := check(t, f, "cap-helps"); c.Verdict != Pass || c.Seeds != 4 {
			t.Errorf("%s: %s on %d seeds", name, c.Verdict, c.Seeds)
		}
	}
}

func TestStoppedWorkIsPartial(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s := toy()
	var n atomic.Int32
	for i := range s.Experiments {
		play := s.Experiments[i].Run
		s.Experiments[i].Run = func(ctx context.Context, seed uint64) (Metrics, error) {
			if n.Add(1) > 7 {
				stop()
				return nil, ctx.Err()
			}
			return play(ctx, seed)
		}
	}
	p := plan(s, 10)
	p.Workers = 1
	f, err := Run(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Partial || f.Done != 7 || len(f.Failures) != 0 || f.OK() {
		t.Errorf("partial %v, %d done, failures %v, OK %v", f.Partial, f.Done, f.Failures, f.OK())
	}
	// Seeds go through all experiments one after the other: two whole seeds.
	if c := check(t, f, "cap-helps"); c.Verdict != Pass || c.Seeds != 2 {
		t.Errorf("%s on %d seeds", c.Verdict, c.Seeds)
	}
}

func TestProgress(t *testing.T) {
	p := plan(toy(), 4)
	last := 0
	p.Progress = func(done, total int) {
		if done != last+1 || total != 12 {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}
	if play(t, p); last != 12 {
		t.Errorf("ended at %d", last)
	}
}

func TestAFigureThatNoRunHas(t *testing.T) {
	s := toy()
	s.Checks[0].Judge = Falls(Of("T01", "wiat/short"), Of("T02", "wait/short"))
	c := check(t, play(t, plan(s, 3)), "cap-helps")
	if c.Verdict != Miss || !strings.Contains(c.Note, "no run has the figure T01 wiat/short") {
		t.Errorf("%s: %s", c.Verdict, c.Note)
	}
}

func TestJSONThereAndBack(t *testing.T) {
	f := play(t, plan(toy(), 4))
	var first bytes.Buffer
	if err := f.WriteJSON(&first); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(first.Bytes()) {
		t.Fatal("not JSON")
	}
	again, err := ReadJSON(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var second, pageA, pageB bytes.Buffer
	if err := again.WriteJSON(&second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("findings change on the way to a file and back")
	}
	if err := f.WriteMarkdown(&pageA, ""); err != nil {
		t.Fatal(err)
	}
	if err := again.WriteMarkdown(&pageB, ""); err != nil {
		t.Fatal(err)
	}
	if pageA.String() != pageB.String() {
		t.Error("the page of what was read differs")
	}
	// Judged again by the same checks, the figures give the same verdicts; by others, others.
	rejudged, err := Rejudge(again, []*Study{toy()})
	if err != nil {
		t.Fatal(err)
	}
	var third bytes.Buffer
	if err := rejudged.WriteMarkdown(&third, ""); err != nil {
		t.Fatal(err)
	}
	if third.String() != pageA.String() {
		t.Errorf("judged again:\n%s", third.String())
	}
	other := toy()
	other.Checks[0].Judge = Rises(Of("T01", "wait/short"), Of("T02", "wait/short"))
	if rejudged, err = Rejudge(again, []*Study{other}); err != nil || check(t, rejudged, "cap-helps").Verdict != Miss {
		t.Errorf("judged by another rule: %v", err)
	}
	if _, err := Rejudge(again, nil); err == nil || !strings.Contains(err.Error(), "study toy no longer exists") {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"", "[]", `{"seeds":[1]}`, `{"studies":"no"}`} {
		if _, err := ReadJSON(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read as findings", bad)
		}
	}
}

func TestConsole(t *testing.T) {
	f := play(t, plan(toy(), 10))
	part := play(t, plan(toy(), 10, "T01"))
	var wide, narrow, few bytes.Buffer
	Console{Ink: term.Ink{}}.Write(&wide, f)
	Console{Width: 72}.Write(&narrow, f)
	Console{}.Write(&few, part)
	golden(t, "console.txt", wide.String()+"---- 72 columns\n"+narrow.String()+"---- one experiment\n"+few.String())
	for _, line := range strings.Split(narrow.String(), "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("a line of %d columns: %s", len([]rune(line)), line)
		}
	}
}

func TestMarkdown(t *testing.T) {
	var page bytes.Buffer
	if err := play(t, plan(toy(), 10)).WriteMarkdown(&page, "yardmaster reproduce toy --seeds 10"); err != nil {
		t.Fatal(err)
	}
	golden(t, "page.txt", page.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with UPDATE=1 to rewrite it); got:\n%s", path, got)
	}
}

func TestReport(t *testing.T) {
	var a, b bytes.Buffer
	f := play(t, plan(toy(), 10))
	if err := f.WriteReport(&a, "yardmaster reproduce toy"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"A toy queue", "A. Author", "A: 1 pass, 1 miss", "cap-hurts", "MISS", "Why: long jobs do not see the cap", "RECORD differs", "it follows from numbers that the model was set by",
		"chart-e", "Waits by experiment", "source 41", "other queues/odd", "a seed moves the wait by a second", "the wait of long jobs, 100\u00a0s", "yardmaster test", "1–10", "printed as 81", "first rule, T03 wait/long against T01 wait/long", "Changed because the source says 10\u00a0%", "rules changed after results were seen",
	} {
		if !strings.Contains(a.String(), want) {
			t.Errorf("the report does not have %q", want)
		}
	}
	if err := f.WriteReport(&b, "yardmaster reproduce toy"); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same findings gave another report")
	}
	if dir := os.Getenv("YARDMASTER_REPORTS"); dir != "" {
		if err := os.WriteFile(dir+"/toy.html", a.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
