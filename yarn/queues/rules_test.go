package queues

import (
	"strings"
	"testing"
)

// prepared is what a setting of a queue becomes when batch is prepared, and the notes.
func prepared(t *testing.T, lines string, o Options) (values map[string]string, notes string) {
	t.Helper()
	o.Queue = "batch"
	p, err := Derive(properties(t, file(lines)), o)
	if err != nil {
		t.Fatal(err)
	}
	values = map[string]string{}
	for _, s := range p.Settings {
		values[s.Queue+"."+s.Name] = s.New
	}
	return values, strings.Join(p.Notes, "; ")
}

// Where vcores count, the smallest part of the queue is a whole vcore, and 2 % for rounding: of 70 % of the cluster, 1 % is 1.02 vcores if the cluster has 1.02 /
// 0.7 / 1 % = 145.7. The intake keeps as many percent as that takes, at most 10.
func TestIntakeHasAVcore(t *testing.T) {
	const seventy = "root.queues = prod,batch\nroot.prod.capacity = 30\nroot.batch.capacity = 70\n"
	const dominant = seventy + "resource-calculator = org.apache.hadoop.yarn.util.resource.DominantResourceCalculator\n"
	for _, x := range []struct {
		name     string
		lines    string
		vcores   int64
		capacity string // of the intake
		note     string
	}{
		{"memory counts", seventy, 1, "0.7", ""},
		{"1 % is enough", dominant, 146, "0.7", ""},
		{"2 %", dominant, 145, "1.4", ""},
		{"8 %", dominant, 20, "5.6", ""},
		{"10 %", dominant, 15, "7", ""},
		{"10 % is not enough", dominant, 14, "7", "on a cluster with less than 15,"},
		{"not known", dominant, 0, "0.7", "on a cluster with less than 146,"},
	} {
		got, notes := prepared(t, x.lines, Options{Policy: "fbq", Vcores: x.vcores})
		if got["root.batch.capacity"] != x.capacity || !strings.Contains(notes, x.note) || (notes == "") != (x.note == "") {
			t.Errorf("%s: %s %%, %q; want %s", x.name, got["root.batch.capacity"], notes, x.capacity)
		}
	}
}

// A user keeps what a queue gave: the factor grows as the capacity shrinks. Without a limit that is the queue's maximum, of its capacity.
func TestUsersKeepTheirLimit(t *testing.T) {
	const forty = "root.queues = prod,batch\nroot.prod.capacity = 60\nroot.batch.capacity = 40\nroot.batch."
	const weighted = "root.queues = a,batch\nroot.a.capacity = 7.5w\nroot.batch.capacity = 2.5w\nroot.batch."
	for _, x := range []struct{ lines, intake, slot string }{ // of 1 % of the capacity, and of 0.1 % of the rest
		{forty + "state = RUNNING", "100", "1000"},
		{forty + "user-limit-factor = 1.5", "150", "1500"},
		{forty + "user-limit-factor = 0.00333", "0.333", "3.33"},
		{forty + "user-limit-factor = -1", "250", "2500"},
		{forty + "user-limit-factor = -1\nroot.batch.maximum-capacity = 80", "200", "2000"},
		{weighted + "user-limit-factor = -1", "400", "4000"},
		{weighted + "user-limit-factor = -1\nroot.batch.maximum-capacity = 50", "200", "2000"},
		{forty + "user-limit-factor = 20000", "1000000", "1000000"},
	} {
		got, _ := prepared(t, x.lines, Options{Policy: "deadline"})
		if got["root.batch.user-limit-factor"] != x.intake || got["root.batch-deadlines.batch-d2.user-limit-factor"] != x.slot {
			t.Errorf("%q: %s and %s, want %s and %s", x.lines[strings.LastIndex(x.lines, "batch."):], got["root.batch.user-limit-factor"], got["root.batch-deadlines.batch-d2.user-limit-factor"], x.intake, x.slot)
		}
	}
}

// A queue that is not there is answered with the leaves that are, at most ten.
func TestLeavesAreNamed(t *testing.T) {
	names := strings.Split("a b c d e f g h i j k l", " ")
	lines := "root.queues = p\nroot.p.capacity = 100\nroot.p.queues = " + strings.Join(names, ",") + "\n"
	for _, n := range names {
		lines += "root.p." + n + ".capacity = 1w\n"
	}
	want := "queue x is not there: the queues are root.p." + strings.Join(names[:10], ", root.p.")
	if _, err := Derive(properties(t, file(lines)), Options{Policy: "fbq", Queue: "x"}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
