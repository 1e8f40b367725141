package capacity1

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

func TestEntry(t *testing.T) {
	for _, c := range []struct {
		params string
		check  func(c Config) bool
		want   string // an error
	}{
		{"", func(c Config) bool {
			q := c.Queues[0]
			return c.AnyQueue && c.MaxSystemJobs == 3000 && c.PollInterval == 5*unit.Second && c.WorkerThreads == 5 && c.TasksPerHeartbeat == 32767 &&
				c.TasksAfterOffSwitch == 0 && c.ReducesPerHeartbeat == 1 && q == (Queue{Name: "default", Capacity: 100, MaxCapacity: -1,
				MinimumUserLimitPercent: 100, UserLimitFactor: 1, MaxActiveTasks: 200000, MaxActiveTasksPerUser: 100000, AcceptFactor: 10})
		}, ""},
		{"queues=a:70;b:30,maximum-capacity=capacity,user-limit-factor=a:2;b:1,supports-priority=b:true", func(c Config) bool {
			return !c.AnyQueue && c.Queues[0].MaxCapacity == 70 && c.Queues[1].MaxCapacity == 30 && c.Queues[0].UserLimitFactor == 2 &&
				!c.Queues[0].SupportsPriority && c.Queues[1].SupportsPriority
		}, ""},
		{"minimum-user-limit-percent=25,init-poll-interval=300,active-users=jobs,off-switch=missed,borrow=true,avoid-busy-nodes=true,reduces-per-heartbeat=-1", func(c Config) bool {
			return c.AnyQueue && c.Queues[0].MinimumUserLimitPercent == 25 && c.PollInterval == 300*unit.Millisecond && c.ActiveUsers == UsersWithJobs &&
				c.OffSwitch == PastMissed && c.Borrow && c.AvoidBusyNodes && c.ReducesPerHeartbeat == -1
		}, ""},
		{"queues=a:70;b:40", nil, "sum to 110"},
		{"queues=a", nil, "write a:70;b:30"},
		{"queues=a:50,maximum-capacity=b:60", nil, `no queue is named "b"`},
		{"queues=a:50,maximum-capacity=x", nil, "not a number"},
		{"supports-priority=maybe", nil, "want true or false"},
		{"queue-order=random", nil, "want least-loaded or equal-running or most-loaded"},
		{"init-poll-interval=0", nil, "init-poll-interval=0: want 1"},
		{"reduces-per-heartbeat=0", nil, "cannot be 0"},
		{"maximum-initialized-active-tasks=0", nil, "at least 1"},
	} {
		spec, err := policy.ParseSpec("capacity1:" + c.params)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Registry{Entry}.New(spec)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.params, err, c.want)
			}
		case err != nil:
			t.Errorf("%s: %v", c.params, err)
		default:
			if got := p.Timer.(*state).cfg; !c.check(got) {
				t.Errorf("%s: %+v", c.params, got)
			}
		}
	}
	p, err := New(Config{WorkerThreads: 4, Queues: []Queue{{Name: "a"}, {Name: "b"}}})
	if err != nil || len(p.NotModelled) != 1 || !strings.Contains(p.NotModelled[0], "init-worker-threads = 4 (2 in use, for 2 queues)") {
		t.Errorf("%v, %v", p.NotModelled, err)
	}
}
