package yard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// A real queue at its ceiling, half of a cluster that is idle otherwise: jobs wait, the tasks of those that run wait, too, and cbt as published
// goes by the idle half and lets in more. With the queue's headroom as its sensor it does not.
func TestLabNoRaiseAtACeiling(t *testing.T) {
	const found = 0.05
	b := up(t, hadoop.Options{SchedulerXML: fmt.Sprintf(`<?xml version="1.0"?>
<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>batch,other</value></property>
  <property><name>yarn.scheduler.capacity.root.batch.capacity</name><value>50</value></property>
  <property><name>yarn.scheduler.capacity.root.batch.maximum-capacity</name><value>50</value></property>
  <property><name>yarn.scheduler.capacity.root.batch.maximum-am-resource-percent</name><value>%v</value></property>
  <property><name>yarn.scheduler.capacity.root.other.capacity</name><value>50</value></property>
</configuration>
`, found)})
	b.open(yard.Options{})
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		var apps []hadoop.Application
		for i := range 12 {
			apps = append(apps, hadoop.Application{ID: fmt.Sprint("job", i), User: "ann", Queue: "batch", Submit: hadoop.Millis(100 * i),
				Containers: []hadoop.Group{{Count: 20, MB: 512, Hold: hadoop.Holds{120_000}}}})
		}
		_, _ = b.lab.AMs(ctx, apps, hadoop.AMsOptions{HeapMB: 128}) // it is cut off
	}()
	defer func() { stop(); <-over }()
	b.full()

	d := b.decide(15*time.Second, true)
	if len(d) < 5 {
		t.Fatalf("%d decisions", len(d))
	}
	for _, x := range d {
		if x.Kind == marp.Raise || x.Kind == marp.Refuse || x.Idle > 15 {
			t.Error(x)
		}
	}
	t.Log(d[len(d)-1])
	raised := false
	for _, x := range b.decide(10*time.Second, false) {
		if x.Kind == marp.Raise {
			raised = true
			t.Log("as published:", x)
		}
	}
	if !raised {
		t.Error("this is no queue in which the idle rest of the cluster misleads")
	}
	if v := b.found(); v.Number != found {
		t.Errorf("%v is left", v)
	}
}

// full waits until the queue is at its ceiling, with jobs waiting.
func (b *bench) full() {
	b.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		s, err := b.y.Snapshot(b.Context())
		if err == nil {
			if q := b.queue(&s); q.Used.Mem >= q.Ceiling.Mem && q.Ceiling.Mem == s.Total.Mem/2 && q.Waiting > 5 {
				b.Logf("%+v, %.0f %% idle", q, 100*s.CPUIdle)
				return
			}
		}
		if time.Now().After(end) {
			b.Fatalf("the queue does not fill: %v %+v", err, s)
		}
	}
}

// decide lets cbt act for a while and answers its decisions.
func (b *bench) decide(length time.Duration, headroom bool) (all []marp.Decision) {
	b.Helper()
	set := marp.Defaults("cbt", b.y.Queues()[0]).On(b.y.Limit()).AsService()
	set.Minimum, set.Max, set.Settle, set.Warm, set.AfterIncrease, set.Headroom = b.y.MinAllocation(), 0.9, unit.Second, unit.Second, 2*unit.Second, headroom
	j, err := live.OpenJournal(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	ctx, cancel := context.WithTimeout(b.Context(), length)
	defer cancel()
	var c marp.Controller
	err = live.Run(ctx, live.Options{
		Engine: b.y,
		Rules: drive.Rules{Act: true, Journal: j.Journal, New: func() (steer.Steerer, error) {
			var err error
			c, err = marp.New("cbt", set)
			return c, err
		}},
		Observe: func(e drive.Event) {
			if e.Kind == drive.Decided && !strings.Contains(c.Last().Why, "too early") {
				all = append(all, c.Last())
			}
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}
