package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/yarn/jhist"
)

// A history file counts only if it is what the servers know of its job: whoever owns a job writes its history, and could write somebody else's.
func TestForgedFiles(t *testing.T) {
	from := t.TempDir()
	fill(t, from, 0, 6)
	var names []jhist.FileName
	dirs, err := folders(t.Context(), Local(from), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		list, _, err := files(t.Context(), Local(from), dir, func(ref) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			names = append(names, r.name)
		}
	}
	job := func(i int, user string, later int64) string {
		n := &names[i]
		return fmt.Sprintf(`{"id":%q,"user":%q,"state":"SUCCEEDED","submitTime":%d,"finishTime":%d}`, n.JobID, user, int64(n.Submit)+later, n.Finish)
	}
	list := []string{job(0, names[0].User, 0), job(1, "mallory", 0), job(2, names[2].User, 1), job(3, names[3].User, 0)}
	a := capacityAnswers()
	a["/ws/v1/history/mapreduce/jobs"] = `{"jobs":{"job":[` + strings.Join(list, ",") + `]}}`
	a["/ws/v1/history/mapreduce/jobs/"+names[4].JobID] = `{"job":` + job(4, names[4].User, 0) + `}` // too old for the list
	a["/ws/v1/cluster/apps"] = fmt.Sprintf(`{"apps":{"app":[{"id":%q,"user":"mallory","state":"FINISHED","finalStatus":"SUCCEEDED",
"applicationType":"MAPREDUCE","startedTime":%d,"finishedTime":%d}]}}`, strings.Replace(names[3].JobID, "job", "application", 1), names[3].Submit, names[3].Finish)
	o := served(t, a)
	o.Files, o.Check, o.Now = Local(from), true, now
	sum, jobs := imported(t, o)
	got := map[string]bool{}
	for _, j := range jobs {
		got[j.ID] = true
	}
	// The server's own answers would stand in for 1 to 3, which it lists; here it has no tasks of theirs.
	for i, want := range []bool{true, false, false, false, true, false} {
		if got[names[i].JobID] != want {
			t.Errorf("job %d was imported: %v, want %v", i, !want, want)
		}
	}
	text := fmt.Sprint(sum.Notes)
	for _, want := range []string{"history files are not what the servers know of their jobs and are left out (job_", "have no usable file (job_"} {
		if !strings.Contains(text, want) {
			t.Errorf("the notes do not say %q: %s", want, text)
		}
	}
	for _, n := range sum.Notes {
		if strings.Contains(n.Text, "not what the servers know") && n.Count != 4 || strings.Contains(n.Text, "no usable file") && n.Count != 3 {
			t.Errorf("%d: %s", n.Count, n.Text)
		}
	}
}

// Each way in which a file can differ is named.
func TestMismatchIsNamed(t *testing.T) {
	from := t.TempDir()
	fill(t, from, 0, 1)
	for name, c := range map[string]struct{ user, want string }{
		"another user": {"mallory", `job_1700000000000_0000: it names user "alice", the history server "mallory"`},
		"not listed":   {"", "job_1700000000000_0000: the history server does not confirm it"},
	} {
		t.Run(name, func(t *testing.T) {
			a := capacityAnswers()
			a["/ws/v1/history/mapreduce/jobs"] = `{"jobs":{"job":[]}}`
			if c.user != "" {
				a["/ws/v1/history/mapreduce/jobs/job_1700000000000_0000"] = fmt.Sprintf(`{"job":{"id":"job_1700000000000_0000","user":%q}}`, c.user)
			}
			o := served(t, a)
			o.Files, o.Check, o.Now, o.RM = Local(from), true, now, false
			if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// Files that nothing was checked against say so.
func TestUncheckedFiles(t *testing.T) {
	from := t.TempDir()
	fill(t, from, 0, 1)
	sum, _ := imported(t, options(t, from))
	if text := fmt.Sprint(sum.Notes); !strings.Contains(text, "not checked against a history server") {
		t.Error(text)
	}
}
