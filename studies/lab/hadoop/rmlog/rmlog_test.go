package rmlog_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop/rmlog"
)

const (
	app  = "application_1700000000000_0007"
	att  = "appattempt_1700000000000_0007_000001"
	cont = "container_1700000000000_0007_01_000002"
)

func at(s string) time.Time {
	t, err := time.Parse("15:04:05.000", s)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 1, 31, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

func TestParse(t *testing.T) {
	const day = "2026-01-31 "
	for name, c := range map[string]struct {
		line string
		want rmlog.Event
	}{
		"container": {
			day + "12:00:00,123 INFO rmcontainer.RMContainerImpl: " + cont + " Container Transitioned from NEW to ALLOCATED",
			rmlog.Event{At: at("12:00:00.123"), Kind: rmlog.Container, Logger: "RMContainerImpl", Container: cont, App: app,
				From: "NEW", To: "ALLOCATED"},
		},
		"container, thread, long class, place": {
			day + "12:00:00,123 INFO  [SchedulerEventDispatcher:Event Processor] org.apache.hadoop.yarn.server.resourcemanager." +
				"rmcontainer.RMContainerImpl (RMContainerImpl.java:handle(480)): " + cont + " Container Transitioned from ACQUIRED to RUNNING\r\n",
			rmlog.Event{At: at("12:00:00.123"), Kind: rmlog.Container, Logger: "RMContainerImpl", Container: cont, App: app,
				From: "ACQUIRED", To: "RUNNING"},
		},
		"container of a later epoch": {
			day + "12:00:00,000 INFO a.RMContainerImpl: container_e17_1700000000000_12345_01_000002 Container Transitioned from RUNNING to KILLED",
			rmlog.Event{At: at("12:00:00.000"), Kind: rmlog.Container, Logger: "RMContainerImpl", App: "application_1700000000000_12345",
				Container: "container_e17_1700000000000_12345_01_000002", From: "RUNNING", To: "KILLED"},
		},
		"application": {
			day + "00:00:01,001 INFO rmapp.RMAppImpl: " + app + " State change from SUBMITTED to ACCEPTED on event = APP_ACCEPTED",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.App, Logger: "RMAppImpl", App: app, From: "SUBMITTED", To: "ACCEPTED",
				Cause: "APP_ACCEPTED"},
		},
		"attempt": {
			day + "00:00:01,001 INFO attempt.RMAppAttemptImpl: " + att + " State change from LAUNCHED to RUNNING on event = REGISTERED",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Attempt, Logger: "RMAppAttemptImpl", App: app, Attempt: att,
				From: "LAUNCHED", To: "RUNNING", Cause: "REGISTERED"},
		},
		"tick": {
			day + "00:00:01,001 DEBUG attempt.RMAppAttemptImpl: Processing event for " + att + " of type STATUS_UPDATE",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Tick, Logger: "RMAppAttemptImpl", App: app, Attempt: att},
		},
		"node": {
			day + "00:00:01,001 INFO rmnode.RMNodeImpl: 127.0.0.2:4001 Node Transitioned from NEW to RUNNING",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Node, Logger: "RMNodeImpl", Node: "127.0.0.2:4001", From: "NEW", To: "RUNNING"},
		},
		"beat": {
			day + "00:00:01,001 DEBUG rmnode.RMNodeImpl: Processing 127.0.0.2:4001 of type STATUS_UPDATE",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Beat, Logger: "RMNodeImpl", Node: "127.0.0.2:4001"},
		},
		"pass": {
			day + "00:00:01,001 DEBUG scheduler.AbstractYarnScheduler: nodeUpdate: 127.0.0.2:4001 cluster capacity: <memory:1, vCores:1>",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Pass, Logger: "AbstractYarnScheduler", Node: "127.0.0.2:4001"},
		},
		"accepted, capacity": {
			day + "00:00:01,001 INFO capacity.CapacityScheduler: Accepted application " + app + " from user: alice, in queue: root.prod",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Accepted, Logger: "CapacityScheduler", App: app, User: "alice", Queue: "root.prod"},
		},
		"accepted, fair": {
			day + "00:00:01,001 INFO fair.FairScheduler: Accepted application " + app +
				" from user: alice, in queue: root.prod, currently num of applications: 1",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Accepted, Logger: "FairScheduler", App: app, User: "alice", Queue: "root.prod"},
		},
		"added, capacity": {
			day + "00:00:01,001 INFO capacity.CapacityScheduler: Added Application Attempt " + att +
				" to scheduler from user alice in queue root.prod",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Added, Logger: "CapacityScheduler", App: app, Attempt: att, User: "alice",
				Queue: "root.prod"},
		},
		"added, fair": {
			day + "00:00:01,001 INFO fair.FairScheduler: Added Application Attempt " + att + " to scheduler from user: alice",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Added, Logger: "FairScheduler", App: app, Attempt: att, User: "alice"},
		},
		"activated": {
			day + "00:00:01,001 INFO capacity.AbstractLeafQueue: Application " + app + " from user: alice activated in queue: root.prod",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Activated, Logger: "AbstractLeafQueue", App: app, User: "alice", Queue: "root.prod"},
		},
		"chosen": {
			day + "00:00:01,001 INFO allocator.AbstractContainerAllocator: assignedContainer application attempt=" + att +
				" container=null queue=root.prod clusterResource=<memory:24576, vCores:96> type=OFF_SWITCH requestedPartition=",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Chosen, Logger: "AbstractContainerAllocator", App: app, Attempt: att,
				Queue: "root.prod", Near: "OFF_SWITCH"},
		},
		"granted": {
			day + "00:00:01,001 INFO resourcemanager.RMAuditLogger: USER=alice\tOPERATION=AM Allocated Container\tTARGET=SchedulerApp\t" +
				"RESULT=SUCCESS\tAPPID=" + app + "\tCONTAINERID=" + cont + "\tRESOURCE=<memory:512, vCores:1>\tQUEUENAME=root.prod",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Granted, Logger: "RMAuditLogger", App: app, Container: cont, User: "alice",
				Queue: "root.prod", Size: "<memory:512, vCores:1>"},
		},
		"placed, by node": {
			day + "00:00:01,001 INFO fica.FiCaSchedulerNode: Assigned container " + cont +
				" of capacity <memory:512, vCores:1> on host 127.0.0.2:4001, which has 1 containers, <memory:512, vCores:1> used and ...",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Placed, Logger: "FiCaSchedulerNode", App: app, Container: cont, Node: "127.0.0.2:4001",
				Size: "<memory:512, vCores:1>"},
		},
		"placed, by application": {
			day + "00:00:01,001 DEBUG fica.FiCaSchedulerApp: allocate: applicationAttemptId=" + att + " container=" + cont +
				" host=127.0.0.2:4001 type=NODE_LOCAL",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Placed, Logger: "FiCaSchedulerApp", App: app, Attempt: att, Container: cont,
				Node: "127.0.0.2:4001", Near: "NODE_LOCAL"},
		},
		"round": {
			day + "00:00:01,001 DEBUG capacity.ProportionalCapacityPreemptionPolicy: Total time used=3 ms.",
			rmlog.Event{At: at("00:00:01.001"), Kind: rmlog.Round, Logger: "ProportionalCapacityPreemptionPolicy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := rmlog.Parse([]byte(c.line))
			if !ok || got != c.want {
				t.Errorf("got %+v, %v\nwant %+v", got, ok, c.want)
			}
		})
	}
}

func TestParsePassesOver(t *testing.T) {
	for _, line := range []string{
		"",
		"java.lang.NullPointerException",
		"\tat org.apache.hadoop.Something(Something.java:1)",
		"2026-01-31 12:00:00,123",
		"2026-01-31 12:00:00,123 ",
		"2026-13-31 12:00:00,123 INFO a.RMContainerImpl: " + cont + " Container Transitioned from NEW to ALLOCATED",
		"2026-01-31 12:00:00,123 INFO a.RMContainerImpl: " + cont + " Container Transitioned from NEW",
		"2026-01-31 12:00:00,123 INFO a.RMContainerImpl: something else",
		"2026-01-31 12:00:00,123 INFO a.Other: " + cont + " Container Transitioned from NEW to ALLOCATED",
		"2026-01-31 12:00:00,123 INFO [thread a.RMContainerImpl: " + cont + " Container Transitioned from NEW to ALLOCATED",
		"2026-01-31 12:00:00,123 DEBUG rmnode.RMNodeImpl: Processing 127.0.0.2:4001 of type STARTED",
		"2026-01-31 12:00:00,123 DEBUG rmcontainer.RMContainerImpl: Processing " + cont + " of type START",
	} {
		if e, ok := rmlog.Parse([]byte(line)); ok {
			t.Errorf("%q gave %+v", line, e)
		}
	}
}

func TestRead(t *testing.T) {
	line := "2026-01-31 12:00:00,001 INFO a.RMContainerImpl: " + cont + " Container Transitioned from NEW to ALLOCATED"
	log := line + "\nstack trace\n" + strings.Repeat("x", 1<<18) + "\n" + line // the last line without its end
	n := 0
	if err := rmlog.Read(strings.NewReader(log), func(rmlog.Event) error { n++; return nil }); err != nil || n != 2 {
		t.Errorf("got %d events, %v", n, err)
	}
	stop := errors.New("enough")
	if err := rmlog.Read(strings.NewReader(log), func(rmlog.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the caller's error is lost: %v", err)
	}
}

func TestAppOf(t *testing.T) {
	for id, want := range map[string]string{
		cont: app, att: app, app: app, "attempt_1700000000000_0007_m_000001_0": app, "": "", "container_1": "", "node_1_2_3": "",
		"appattempt_1700000000000_123456_000001": "application_1700000000000_123456",
	} {
		if got := rmlog.AppOf(id); got != want {
			t.Errorf("AppOf(%q) = %q, want %q", id, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("2026-01-31 12:00:00,001 INFO [a] b.RMContainerImpl: " + cont + " Container Transitioned from NEW to ALLOCATED"))
	f.Add([]byte("2026-01-31 00:00:01,001 INFO fair.FairScheduler: Added Application Attempt " + att + " to scheduler from user: alice"))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, ok := rmlog.Parse(line)
		if ok && (e.Kind == "" || e.At.IsZero() && !bytes.HasPrefix(line, []byte("0001"))) {
			t.Errorf("%q gave an event without kind or time: %+v", line, e)
		}
	})
}
