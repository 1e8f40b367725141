package main

import (
	"bufio"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yardmaster/yardmaster/kube/lab"
	"github.com/yardmaster/yardmaster/unit"
)

// event is what Yardmaster's log says became of a pod, or of a job as a whole.
type event struct {
	At       unit.Time // since the beginning
	What     string
	Job, Pod int // by the workload's order; Pod is -1 of a job as a whole
}

var line = regexp.MustCompile(`"Policy" at="(.*)" what="(.*)" job="(.*)" pod="(.*)"`)

// logged is Yardmaster's log of a run.
func logged(t testing.TB, l *lab.Lab, begin time.Time, jobs []job) (events []event) {
	t.Helper()
	type place struct{ job, pod int }
	at := map[string]place{}
	for i, j := range jobs {
		o, err := l.Client.BatchV1().Jobs(j.Team).Get(t.Context(), j.Name, metav1.GetOptions{})
		check(t, err)
		at[j.Team+"/"+string(o.UID)] = place{i, -1}
	}
	pods, err := l.Client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	check(t, err)
	for k := range pods.Items {
		p := &pods.Items[k]
		for _, o := range p.OwnerReferences {
			at[string(p.UID)] = place{at[p.Namespace+"/"+string(o.UID)].job, index(p)}
		}
	}
	check(t, readLog(filepath.Join(l.Dir, "yardmaster.log"), 0, func(when time.Time, what, job, pod string) {
		p, known := at[cmp.Or(pod, job)]
		if !known {
			t.Fatalf("the log has a pod of no job: %s of %s", pod, job)
		}
		events = append(events, event{At: unit.Time(when.Sub(begin).Microseconds()), What: what, Job: p.job, Pod: p.pod})
	}))
	return events
}

// readLog gives what a program's log says of pods, and of jobs as a whole, from an offset on.
func readLog(file string, from int64, see func(at time.Time, what, job, pod string)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewScanner(f)
	for in.Buffer(nil, 1<<20); in.Scan(); {
		m := line.FindStringSubmatch(in.Text())
		if m == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, m[1])
		if err != nil {
			return err
		}
		see(at, m[2], m[3], m[4])
	}
	return in.Err()
}
