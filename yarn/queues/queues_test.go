package queues

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
	"github.com/yardmaster/yardmaster/yarn/queues/queuestest"
)

// file is a capacity-scheduler.xml with NAME = VALUE lines of queues as properties.
func file(lines string) string {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<!-- queues of the data team -->\n<configuration>\n")
	for line := range strings.Lines(lines) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), " = "); ok {
			fmt.Fprintf(&b, "  <property>\n    <name>%s%s</name>\n    <value>%s</value>\n  </property>\n", conf.Prefix, name, v)
		}
	}
	return b.String() + "</configuration>\n"
}

func properties(t *testing.T, xml string) *conf.Properties {
	t.Helper()
	p, err := conf.ReadProperties(strings.NewReader(xml), "capacity-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func values(p *conf.Properties) map[string]string {
	m := map[string]string{}
	for _, x := range p.List {
		m[x.Name] = cmp.Or(x.Raw, x.Value)
	}
	return m
}

const plain = `
	root.queues = prod,batch
	root.prod.capacity = 40
	root.batch.capacity = 60`

const nested = `
	maximum-applications = 5000
	maximum-am-resource-percent = 0.4
	queue-mappings = u:etl:root.org.data.batch
	root.queues = org, default
	root.org.queues = data , web
	root.org.capacity = 87.5
	root.org.maximum-capacity = 95
	root.default.capacity = 12.5
	root.org.web.capacity = 66.667
	root.org.data.capacity = 33.333
	root.org.data.queues = batch, adhoc,  etl
	root.org.data.batch.capacity = 45.25
	root.org.data.batch.maximum-capacity = 80.5
	root.org.data.batch.user-limit-factor = 1.5
	root.org.data.batch.minimum-user-limit-percent = 25
	root.org.data.batch.maximum-am-resource-percent = 0.3
	root.org.data.batch.ordering-policy = fair
	root.org.data.batch.ordering-policy.fair.enable-size-based-weight = true
	root.org.data.batch.acl_submit_applications = ana,ben data
	root.org.data.batch.acl_administer_queue =  ops
	root.org.data.batch.acl_application_max_priority = [user=ana max_priority=7 default_priority=4]
	root.org.data.batch.priority = 3
	root.org.data.batch.max-parallel-apps = 40
	root.org.data.batch.maximum-allocation-mb = 4096
	root.org.data.batch.user-settings.ana.weight = 1.5
	root.org.data.batch.default-application-priority = 2
	root.org.data.batch.state = RUNNING
	root.org.data.batch.show-reservations-as-queues = false
	root.org.data.adhoc.capacity = 30
	root.org.data.etl.capacity = 24.75`

const weights = `
	root.queues = a,batch,c
	root.a.capacity = 3w
	root.batch.capacity = 2.5w
	root.batch.maximum-applications = 77
	root.batch.user-limit-factor = -1
	root.c.capacity = 4.5w`

func fromMap(t *testing.T, m map[string]string) *conf.Properties {
	t.Helper()
	var list []conf.Property
	for name, v := range m {
		list = append(list, conf.Property{Name: name, Value: v})
	}
	var b bytes.Buffer
	if err := conf.WriteProperties(&b, list); err != nil {
		t.Fatal(err)
	}
	return properties(t, b.String())
}

// For every policy and configuration: the three forms of the change agree, the result is valid, no other queue changes, capacities add up, and
// undoing it gives the original back, whether the undo is interrupted or not.
func TestRoundTrip(t *testing.T) {
	for name, lines := range map[string]string{"plain": plain, "nested": nested, "weights": weights} {
		for _, o := range []Options{{Policy: "fbq"}, {Policy: "fbq", Levels: 3}, {Policy: "comp", Levels: 5}, {Policy: "tags"}, {Policy: "tags", Shares: []float64{0.5, 0.333}},
			{Policy: "sita", Levels: 3, Shares: []float64{0.1, 0.2}}, {Policy: "deadline"}, {Policy: "deadline", Levels: 7}, {Policy: "deadline", Levels: 1}} {
			t.Run(fmt.Sprintf("%s %s %d %v", name, o.Policy, o.Levels, o.Shares), func(t *testing.T) {
				if o.Queue = "batch"; name == "nested" {
					o.Queue = "root.org.data.batch"
				}
				xml := file(lines)
				before := properties(t, xml)
				plan, err := Derive(before, o)
				if err != nil {
					t.Fatal(err)
				}
				after := queuestest.Apply(values(before), plan.Change())
				edited, err := edit.Properties([]byte(xml), plan.Values())
				if err != nil {
					t.Fatal(err)
				}
				if got := values(properties(t, string(edited))); !maps.Equal(got, after) {
					t.Errorf("the file differs from what the request makes:\n%v\n%v", got, after)
				}
				for _, x := range plan.Apply(before) {
					if after[x.Name] != x.Value {
						t.Errorf("%s is %q after the request, want %q", x.Name, after[x.Name], x.Value)
					}
				}
				check(t, plan, before, fromMap(t, after))

				is := func(m map[string]string, want State) {
					t.Helper()
					if got, diffs := plan.Compare(fromMap(t, m)); got != want || (want == Changed) != (diffs != nil) {
						t.Errorf("state %v %q, want %v", got, diffs, want)
					}
				}
				is(values(before), Original)
				is(after, Prepared)
				stopped := queuestest.Apply(after, plan.Stop())
				is(stopped, Stopped)
				undone := queuestest.Apply(stopped, plan.Remove(fromMap(t, stopped)))
				if !maps.Equal(undone, values(before)) {
					t.Errorf("undone: %v\nwant %v", undone, values(before))
				}
				is(undone, Original)

				for _, s := range plan.Settings {
					theirs := maps.Clone(after)
					theirs[s.key()] += "5"
					if s.Name == "queues" && s.Old != "" {
						is(theirs, map[bool]State{true: Changed, false: Prepared}[!strings.Contains(theirs[s.key()]+",", last(plan.Parent)+",")])
						continue
					}
					is(theirs, Changed)
				}
				more := maps.Clone(after)
				more[conf.Prefix+plan.Levels[0]+".max-parallel-apps"] = "3"
				is(more, Changed)
			})
		}
	}
}

// check tests the invariants of a prepared configuration.
func check(t *testing.T, plan *Plan, before, after *conf.Properties) {
	t.Helper()
	old, err := read((&Plan{}).Apply(before), "before")
	if err != nil {
		t.Fatal(err)
	}
	now, err := read((&Plan{}).Apply(after), "after")
	if err != nil {
		t.Fatal(err)
	}
	if len(now.Warnings) > len(old.Warnings) {
		t.Errorf("it warns: %q", now.Warnings)
	}
	was, is := map[string]*conf.Queue{}, map[string]*conf.Queue{}
	old.Root.Walk(func(q *conf.Queue) { was[q.Path] = q })
	now.Root.Walk(func(q *conf.Queue) { is[q.Path] = q })
	if len(is) != len(was)+1+len(plan.Levels) {
		t.Errorf("%d queues, before %d", len(is), len(was))
	}
	for _, x := range before.List {
		owner := strings.HasPrefix(x.Name, conf.Prefix+plan.Queue+".")
		if got := after.Get(x.Name); (got == nil || got.Value != x.Value) && !owner && !strings.HasSuffix(x.Name, ".queues") {
			t.Errorf("%v has changed to %v", x, got)
		}
	}
	for path, q := range is {
		var sum float32
		for _, k := range q.Children {
			sum += k.Capacity.Value
		}
		if len(q.Children) > 0 && q.Children[0].Capacity.Kind == conf.Percent && (sum < 99.999 || sum > 100.001) {
			t.Errorf("the capacities below %s sum to %v", path, sum)
		}
	}
	q, in, up := was[plan.Queue], is[plan.Queue], is[plan.Parent]
	if d := in.Capacity.Value + up.Capacity.Value - q.Capacity.Value; d > 1e-4 || d < -1e-4 || in.Capacity.Kind != q.Capacity.Kind {
		t.Errorf("%v and %v, together they had %v", in.Capacity, up.Capacity, q.Capacity)
	}
	if in.MaxCapacity != q.MaxCapacity || up.MaxCapacity != q.MaxCapacity || up.Priority != q.Priority {
		t.Errorf("the maximum is %v and %v, it was %v", in.MaxCapacity, up.MaxCapacity, q.MaxCapacity)
	}
	for i, name := range plan.Levels {
		l := is[name]
		if l == nil || l.Capacity.Value <= 0 || l.MaximumApplications < 1 && now.GlobalQueueMaxApplications == 0 || l.Ordering != q.Ordering ||
			l.MinimumUserLimitPercent != q.MinimumUserLimitPercent || l.MaximumAMPercent != q.MaximumAMPercent || l.DefaultApplicationPriority != q.DefaultApplicationPriority {
			t.Errorf("level %s: %+v", name, l)
		}
		switch plan.Policy {
		case "fbq", "comp":
			if l.MaxCapacity.Value != 100 || up.Ordering != "priority-utilization" || i > 0 && l.Priority >= is[plan.Levels[i-1]].Priority {
				t.Errorf("level %s: %+v", name, l)
			}
			if q.UserLimitFactor > 0 && l.Capacity.Value*l.UserLimitFactor < 100*q.UserLimitFactor {
				t.Errorf("%s: a user has %v %% x %v", name, l.Capacity.Value, l.UserLimitFactor)
			}
		case "tags", "sita":
			if l.MaxCapacity != l.Capacity {
				t.Errorf("level %s: %+v", name, l)
			}
		}
	}
}

// A whole change, as an operator sees it.
func TestNested(t *testing.T) {
	plan, err := Derive(properties(t, file(nested)), Options{Policy: "fbq", Queue: "root.org.data.batch"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range plan.Settings {
		got = append(got, fmt.Sprintf("%s %s: %s -> %s", strings.TrimPrefix(s.Queue, "root.org."), s.Name, s.Old, s.New))
	}
	want := []string{
		"data.batch capacity: 45.25 -> 0.4525",
		"data.batch user-limit-factor: 1.5 -> 150",
		"data.batch maximum-applications:  -> 659", // 5000 x 0.875 x 0.33333 x 0.4525
		"data queues: batch, adhoc,  etl -> batch,adhoc,etl,batch-levels",
		"data.batch-levels queues:  -> batch-l1,batch-l2",
		"data.batch-levels capacity:  -> 44.7975",
		"data.batch-levels maximum-capacity:  -> 80.5",
		"data.batch-levels ordering-policy:  -> priority-utilization",
		"data.batch-levels acl_submit_applications:  -> ana,ben data",
		"data.batch-levels acl_administer_queue:  ->  ops", // a group
		"data.batch-levels priority:  -> 3",
		"data.batch-levels max-parallel-apps:  -> 40",
	}
	for i, l := range []struct{ capacity, factor, priority string }{{"99", "1.5152", "2"}, {"1", "150", "1"}} {
		at := fmt.Sprintf("data.batch-levels.batch-l%d ", i+1)
		want = append(want, at+"capacity:  -> "+l.capacity, at+"maximum-capacity:  -> 100", at+"user-limit-factor:  -> "+l.factor, at+"priority:  -> "+l.priority,
			at+"minimum-user-limit-percent:  -> 25", at+"maximum-am-resource-percent:  -> 0.3", at+"ordering-policy:  -> fair",
			at+"ordering-policy.fair.enable-size-based-weight:  -> true", at+"acl_application_max_priority:  -> [user=ana max_priority=7 default_priority=4]",
			at+"maximum-allocation-mb:  -> 4096", at+"user-settings.ana.weight:  -> 1.5", at+"default-application-priority:  -> 2", at+"maximum-applications:  -> 659")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "show-reservations-as-queues") {
		t.Errorf("notes: %q", plan.Notes)
	}
}

// A file is changed only where it must be.
func TestFileKeepsItsText(t *testing.T) {
	xml := strings.ReplaceAll(file(nested), "\n", "\r\n")
	plan, err := Derive(properties(t, xml), Options{Policy: "tags", Queue: "org.data.batch", Shares: []float64{0.5}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := edit.Properties([]byte(xml), plan.Values())
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]int{}
	for line := range strings.Lines(string(out)) {
		left[line]++
	}
	var lost []string
	for line := range strings.Lines(xml) {
		if left[line]--; left[line] < 0 {
			lost = append(lost, strings.TrimSpace(line))
		}
	}
	if want := []string{"<value>batch, adhoc,  etl</value>", "<value>45.25</value>", "<value>1.5</value>"}; !slices.Equal(lost, want) {
		t.Errorf("these lines are gone: %q, want %q", lost, want)
	}
	if _, err := edit.Properties([]byte(xml), []conf.Property{{Name: "a", Value: "<x>"}}); err == nil {
		t.Error("a value with markup was written")
	}
	if _, err := edit.Properties([]byte(xml), []conf.Property{{Name: "a</name>", Value: "1"}}); err == nil {
		t.Error("a name with markup was written")
	}
}

// Where vcores count, the smallest part is a whole vcore, as far as it can be.
func TestVcores(t *testing.T) {
	const dominant = plain + "\nresource-calculator = org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
	for _, c := range []struct {
		lines             string
		vcores            int64
		part, low, factor string
		notes             int
	}{{plain, 8, "0.6", "1", "100", 0}, {dominant, 400, "0.6", "1", "100", 0}, {dominant, 100, "1.2", "2", "50", 0}, {dominant, 8, "6", "10", "10", 1}, {dominant, 0, "0.6", "1", "100", 1}} {
		plan, err := Derive(properties(t, file(c.lines)), Options{Policy: "fbq", Queue: "batch", Levels: 3, Vcores: c.vcores})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, s := range plan.Settings {
			got[last(s.Queue)+" "+s.Name] = s.New
		}
		if got["batch capacity"] != c.part || got["batch-l3 capacity"] != c.low || got["batch-l3 user-limit-factor"] != c.factor || len(plan.Notes) != c.notes {
			t.Errorf("%d vcores: %v, %q", c.vcores, got, plan.Notes)
		}
	}
}

// What Derive makes passes the check of a record.
func TestCheck(t *testing.T) {
	for _, policy := range Policies() {
		plan, err := Derive(properties(t, file(nested)), Options{Policy: policy, Queue: "root.org.data.batch"})
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Check(); err != nil {
			t.Error(policy, err)
		}
		plan.Settings = append(plan.Settings, Setting{Queue: "root.org.data", Name: "capacity", Old: "90", New: "33.333"})
		if err := plan.Check(); err == nil || !strings.Contains(err.Error(), "capacity of root.org.data is none of its settings") {
			t.Error(policy, err)
		}
	}
	if err := new(Plan).Check(); err == nil {
		t.Error("no plan passes")
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		lines string
		o     Options
		want  string
	}{
		{plain, Options{Policy: "aging", Queue: "batch"}, "needs no queues of its own"},
		{plain, Options{Policy: "fbq", Queue: "none"}, "queue none is not there: the queues are root.prod, root.batch"},
		{plain, Options{Policy: "fbq", Queue: "root"}, "has queues inside it"},
		{nested, Options{Policy: "fbq", Queue: "org.data"}, "has queues inside it"},
		{plain + "\nroot.prod.queues = batch\nroot.prod.batch.capacity = 100", Options{Policy: "fbq", Queue: "batch"}, ""},
		{plain, Options{Policy: "fbq", Queue: "batch", Shares: []float64{0.5}}, "fbq has no fixed shares"},
		{plain, Options{Policy: "fbq", Queue: "batch", Levels: 1}, "1 levels"},
		{plain, Options{Policy: "fbq", Queue: "batch", Levels: -3}, "-3 levels"},
		{plain, Options{Policy: "fbq", Queue: "batch", Levels: maxLevels}, ""},
		{plain, Options{Policy: "fbq", Queue: "batch", Levels: maxLevels + 1}, "want 2 to 50"},
		{plain, Options{Policy: "tags", Queue: "batch", Levels: 3, Shares: []float64{0.5}}, "3 levels need 2 shares, not 1"},
		{plain, Options{Policy: "tags", Queue: "batch", Shares: []float64{0.5, 0.5}}, "their sum below 1"},
		{plain, Options{Policy: "tags", Queue: "batch", Shares: []float64{0.5, -0.1}}, "each must be above 0"},
		{plain, Options{Policy: "tags", Queue: "batch", Shares: []float64{1.5}}, "their sum below 1"},
		{plain + "\nroot.batch.state = STOPPED", Options{Policy: "fbq", Queue: "batch"}, "is stopped"},
		{"root.queues = a,batch\nroot.a.capacity = [memory=4096,vcores=4]\nroot.batch.capacity = [memory=4096,vcores=4]", Options{Policy: "fbq", Queue: "batch"}, "absolute amount ([memory=4096,vcores=4])"},
		{"root.queues = a,batch\nroot.a.capacity = 100\nroot.batch.capacity = 0", Options{Policy: "fbq", Queue: "batch"}, "too little to divide"},
		{plain + "\nroot.auto-queue-creation-v2.enabled = true", Options{Policy: "fbq", Queue: "batch"}, "queue root has auto-queue-creation-v2.enabled"},
		{plain + "\nroot.batch.auto-create-child-queue.enabled = true", Options{Policy: "fbq", Queue: "batch"}, "queue root.batch has auto-create-child-queue.enabled"},
		{plain + "\nroot.batch.accessible-node-labels.gpu.capacity = 50", Options{Policy: "fbq", Queue: "batch"}, "labelled nodes"},
		{plain + "\nroot.batch.reservable = true", Options{Policy: "fbq", Queue: "batch"}, "root.batch has reservable"},
		{plain + "\nroot.batch.yardmaster.journal = x", Options{Policy: "fbq", Queue: "batch"}, "the mark of a steerer"},
		{plain + "\nroot.batch-levels.batch-l2.state = STOPPED", Options{Policy: "fbq", Queue: "batch"}, "remove what is left of it"},
		{"root.queues = batch-levels,batch\nroot.batch-levels.capacity = 40\nroot.batch.capacity = 60", Options{Policy: "fbq", Queue: "batch"}, "is already there"},
		{"root.queues = batch-levels,batch\nroot.batch-levels.capacity = 40\nroot.batch.capacity = 60", Options{Policy: "deadline", Queue: "batch"}, "root.batch-levels is already there"},
		{"root.queues = a,batch\nroot.a.capacity = 40\nroot.batch.capacity = 60\nroot.a.queues = batch-l2\nroot.a.batch-l2.capacity = 100", Options{Policy: "fbq", Queue: "batch"}, "root.a.batch-l2 has the name of a new one"},
		{"root.queues = a,batch\nroot.a.capacity = 40\nroot.batch.capacity = 70", Options{Policy: "fbq", Queue: "batch"}, "sum to 110"},
	} {
		plan, err := Derive(properties(t, file(c.lines)), c.o)
		if c.want == "" {
			if err != nil || plan.Queue != "root.batch" {
				t.Errorf("%+v: %v, %+v", c.o, err, plan)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}
